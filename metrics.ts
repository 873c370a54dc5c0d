/**
 * Every metric of bridge and worker. Labels hold only names from closed sets (topics, outcomes, reasons), never
 * an ID, so that the number of series stays small.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export const registry = new Registry();
const registers = [registry];

export const metrics = {
  records: new Counter({
    name: 'inventory_bridge_records_total',
    help: 'Kafka records the offset has passed, by topic and what they became: command, ignored, dead-letter',
    labelNames: ['topic', 'became'],
    registers,
  }),
  ignored: new Counter({
    name: 'inventory_bridge_ignored_total',
    help: 'Records that ask for nothing, by topic and reason',
    labelNames: ['topic', 'reason'],
    registers,
  }),
  starts: new Counter({
    name: 'inventory_bridge_starts_total',
    help: 'Workflow starts by workflow type and result: started, duplicate',
    labelNames: ['workflow', 'result'],
    registers,
  }),
  startRetries: new Counter({
    name: 'inventory_bridge_start_retries_total',
    help: 'Starts tried again because Temporal did not answer or asked to slow down, by gRPC status',
    labelNames: ['status'],
    registers,
  }),
  startSeconds: new Histogram({
    name: 'inventory_bridge_start_seconds',
    help: 'Time from the first try to the durable workflow',
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 30],
    registers,
  }),
  groupCommands: new Histogram({
    name: 'inventory_bridge_group_commands',
    help: 'Commands started together as one group workflow',
    buckets: [1, 5, 20, 50, 100, 200, 500, 1000, 2000],
    registers,
  }),
  deadLetters: new Counter({
    name: 'inventory_bridge_dead_letters_total',
    help: 'Records written to the dead-letter topic, by topic',
    labelNames: ['topic'],
    registers,
  }),
  pauses: new Counter({
    name: 'inventory_bridge_pauses_total',
    help: 'Times a partition was paused, by reason',
    labelNames: ['reason'],
    registers,
  }),
  pausedPartitions: new Gauge({
    name: 'inventory_bridge_paused_partitions',
    help: 'Partitions paused now, by reason',
    labelNames: ['reason'],
    registers,
  }),
  lag: new Gauge({
    name: 'inventory_bridge_lag',
    help: 'Records of a partition that the offset has not passed yet; only the partitions of this bridge',
    labelNames: ['topic', 'partition'],
    registers,
  }),
  attributesMissing: new Counter({
    name: 'inventory_bridge_search_attributes_missing_total',
    help: 'Workflows started without search attributes because the namespace does not know one of them',
    registers,
  }),
  commitFailures: new Counter({
    name: 'inventory_bridge_commit_failures_total',
    help: 'Offset commits that Kafka rejected; the records come again and the ledger answers them',
    registers,
  }),
  rebalances: new Counter({
    name: 'inventory_bridge_rebalances_total',
    help: 'Times this consumer joined its group',
    registers,
  }),
  rebuilds: new Counter({
    name: 'inventory_bridge_rebuilds_total',
    help: 'Times the consumer was built again after the client gave up',
    registers,
  }),
  outcomes: new Counter({
    name: 'inventory_worker_outcomes_total',
    help: 'Commands judged by the ledger, by reference type and outcome',
    labelNames: ['reference_type', 'outcome'],
    registers,
  }),
  belowZero: new Counter({
    name: 'inventory_worker_below_zero_total',
    help: 'Legs applied although they took their stock below zero, by reference type',
    labelNames: ['reference_type'],
    registers,
  }),
  parked: new Counter({
    name: 'inventory_worker_parked_total',
    help: 'Commands parked for a person, by reference type and case: CONFLICT, REFUSED, UNKNOWN_STOCK',
    labelNames: ['reference_type', 'case'],
    registers,
  }),
  decided: new Counter({
    name: 'inventory_worker_decided_total',
    help: "Decisions recorded in the ledger, the deadline's (a discard) among them, by reference type and decision",
    labelNames: ['reference_type', 'decision'],
    registers,
  }),
  transactions: new Counter({
    name: 'inventory_worker_transactions_total',
    help: 'MongoDB transactions by result: committed, conflict, unknown-commit, failed',
    labelNames: ['result'],
    registers,
  }),
  transactionCommands: new Histogram({
    name: 'inventory_worker_transaction_commands',
    help: 'Commands posted together in one transaction',
    buckets: [1, 2, 5, 10, 50, 100, 500, 1000, 2000],
    registers,
  }),
  transactionSeconds: new Histogram({
    name: 'inventory_worker_transaction_seconds',
    help: 'Time of one posting transaction, tries after write conflicts included',
    buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5],
    registers,
  }),
} as const;
