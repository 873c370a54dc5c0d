/** Every fault there is, by name. */
import { DEPLOYMENT_FAULTS } from './deployments';
import type { Fault } from './fault';
import { GROUP_FAULTS } from './group';
import { NETWORK_FAULTS } from './network';
import { pressureFaults, type Sizes } from './pressure';
import { PROCESS_FAULTS } from './processes';
import { SERVER_FAULTS } from './servers';
import { SHUTDOWN_FAULTS } from './shutdown';
import { stepDown } from './stepDown';

export const DEFAULT_SIZES: Sizes = { awaySeconds: 60, burst: 20_000 };

export const faultsOf = (sizes: Sizes): readonly Fault[] => [
  ...PROCESS_FAULTS,
  ...SHUTDOWN_FAULTS,
  ...SERVER_FAULTS,
  stepDown,
  ...NETWORK_FAULTS,
  ...GROUP_FAULTS,
  ...pressureFaults(sizes),
  ...DEPLOYMENT_FAULTS,
];
