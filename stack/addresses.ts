/** Where each server is, as ports and as the variables that `readConfig` knows. */
import { REPLICA_SET } from './mongo';
import type { Ports } from './ports';
import type { ServerName } from './server';

/** The variables that say where each server is. */
export interface Variables {
  kafka: 'KAFKA_BROKERS';
  mongo: 'MONGO_URL';
  temporal: 'TEMPORAL_ADDRESS' | 'TEMPORAL_UI_URL';
}

/** The ports that a server listens on. */
export function portsOf(name: ServerName, ports: Ports): number[] {
  if (name === 'kafka') return [ports.kafka, ports.kafkaController];
  return name === 'mongo' ? [ports.mongo] : [ports.temporal, ports.temporalUi];
}

/** The variables that name these servers. */
export function environment<N extends ServerName>(
  names: readonly N[],
  ports: Ports,
): Record<Variables[N], string> {
  const all: Record<ServerName, Record<string, string>> = {
    kafka: { KAFKA_BROKERS: `127.0.0.1:${ports.kafka}` },
    mongo: { MONGO_URL: `mongodb://127.0.0.1:${ports.mongo}/inventory?replicaSet=${REPLICA_SET}` },
    temporal: {
      TEMPORAL_ADDRESS: `127.0.0.1:${ports.temporal}`,
      TEMPORAL_UI_URL: `http://127.0.0.1:${ports.temporalUi}`,
    },
  };
  return Object.assign({}, ...names.map((name) => all[name])) as Record<Variables[N], string>;
}
