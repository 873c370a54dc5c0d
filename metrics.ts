/**
 * Every metric of bridge and worker, beside those of the process that prom-client knows. Labels hold only names from closed sets (topics, outcomes, reasons), never
 * an ID, so that the number of series stays small.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export const registry = new Registry();
const registers = [registry];

/** From what nobody waits for to a day: what is late is late by hours when something was down. */
const AGE_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1_800, 7_200, 86_400];

export const metrics = {
  ready: new Gauge({
    name: 'inventory_ready',
    help: 'Whether a part of this process can make progress: 1 or 0; /readyz says why not',
    labelNames: ['part'],
    registers,
  }),
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
  handoverSeconds: new Histogram({
    name: 'inventory_bridge_handover_seconds',
    help:
      "Time from a record's Kafka timestamp to its durable workflow; by the clock of the producer, or of the " +
      'broker where the topic keeps LogAppendTime. A replayed record counts with its old time',
    buckets: AGE_BUCKETS,
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
  oldestSeconds: new Gauge({
    name: 'inventory_bridge_oldest_record_seconds',
    help:
      'Age of the oldest record that the offset has not passed, by its Kafka timestamp, 0 when nothing waits; one ' +
      'that was not fetched yet counts from when this bridge saw it waiting. Looked at every 5 s',
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
  ledgerSeconds: new Histogram({
    name: 'inventory_worker_event_to_ledger_seconds',
    help:
      'Time from when an event occurred, as it says itself, to its entries in the ledger, by reference type; delays ' +
      'and clock of the producer count, and waiting for a stock. Once for each document that was applied without a person',
    labelNames: ['reference_type'],
    buckets: AGE_BUCKETS,
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
  parkedNow: new Gauge({
    name: 'inventory_worker_parked_now',
    help:
      'Commands that wait for a person now, by case and by how long ago they came in: under-1h, 1h-to-1d, ' +
      '1d-to-7d, over-7d. Counted every minute; every worker of a task queue shows the same',
    labelNames: ['case', 'came_in'],
    registers,
  }),
  activityFailures: new Counter({
    name: 'inventory_worker_activity_failures_total',
    help:
      'Tries of an activity that failed, by activity and error; each is tried again, except StockMovedError. ' +
      'BrokenStockError and BrokenLedgerError need a person',
    labelNames: ['activity', 'error'],
    registers,
  }),
  transactions: new Counter({
    name: 'inventory_worker_transactions_total',
    help:
      'MongoDB transactions by result: committed; conflict (a write conflict, tried again at once); ' +
      'unknown-commit and unavailable (tried again by Temporal, ledger first); failed (not for MongoDB to blame)',
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
