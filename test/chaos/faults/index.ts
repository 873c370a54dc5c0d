/** Every fault there is, by name. */
import { DEPLOYMENT_FAULTS } from './deployments';
import type { Fault } from './fault';
import { GROUP_FAULTS } from './group';
import { NETWORK_FAULTS } from './network';
import { PRESSURE_FAULTS } from './pressure';
import { PROCESS_FAULTS } from './processes';
import { SERVER_FAULTS } from './servers';
import { SHUTDOWN_FAULTS } from './shutdown';
import { stepDown } from './stepDown';

export const FAULTS: readonly Fault[] = [
  ...PROCESS_FAULTS,
  ...SHUTDOWN_FAULTS,
  ...SERVER_FAULTS,
  stepDown,
  ...NETWORK_FAULTS,
  ...GROUP_FAULTS,
  ...PRESSURE_FAULTS,
  ...DEPLOYMENT_FAULTS,
];
