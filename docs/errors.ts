/** Every kind of error and where an operator meets it, for `docs/reference.md`. A test holds it to the source. */

export interface ErrorMeaning {
  /** Where it shows. */
  where: string;
  meaning: string;
  /** What to do, and whether trying again helps. */
  remedy: string;
}

const START = 'at start, exit code 2';
const VERB = 'a verb, exit code 2';
const PENDING = 'log `Activity failed`, pending activity in the Web UI';

export const ERRORS: Record<string, ErrorMeaning> = {
  ConfigError: {
    where: START,
    meaning: 'a variable cannot be used, or two contradict each other; each is named with its value',
    remedy: 'correct it; `inventory config` prints what is in force',
  },
  TemporalCheckError: {
    where: START,
    meaning: 'Temporal does not answer, or its search attributes are missing',
    remedy: 'check `TEMPORAL_ADDRESS`; `inventory setup`',
  },
  DatabaseCheckError: {
    where: START,
    meaning: 'MongoDB is no replica set, or a collection or an index is missing or built otherwise',
    remedy: 'what the text says; `inventory setup`',
  },
  KafkaCheckError: {
    where: '`setup`, `doctor`',
    meaning: 'a topic is missing or cannot hold a dead letter',
    remedy: 'what the text says; `inventory setup`',
  },
  KafkaAccessError: {
    where: 'at start or later, exit code 2',
    meaning: 'Kafka is there and does not let this program in: password, certificate or a right',
    remedy: 'what the text says, by variable; trying again does not help',
  },
  RightsError: {
    where: `${START}; ${PENDING}`,
    meaning: 'the user of `MONGO_URL` lacks a right, which the text names',
    remedy: 'grant it, see [SECURITY.md](../SECURITY.md); activities are tried again by themselves',
  },
  PayloadKeyError: {
    where: 'a workflow task, an activity or a verb fails',
    meaning: 'a payload is encrypted with a key that is not in `PAYLOAD_KEYS_FILE`, or it was changed',
    remedy:
      'put the key that the text names into the file; tried again by itself, see [encryption](encryption.md)',
  },
  CodecRequestError: {
    where: 'answer of `inventory codec-server`',
    meaning: 'a request that it does not take: method, path, size, token or content',
    remedy: 'correct the request',
  },
  StartPositionError: {
    where: START,
    meaning: 'a topic is missing, or the group never committed and nobody said where to start',
    remedy: 'set `KAFKA_START_FROM`; trying again does not help',
  },
  GaveUp: {
    where: 'a bridge ends, exit code 2',
    meaning: 'the Kafka client failed ten times in a row without a record passed in between',
    remedy: 'restart it (an orchestrator does); look at the brokers',
  },
  Unavailable: {
    where: 'reason of a paused partition',
    meaning: 'a dead letter could not be written for now',
    remedy: 'tried again by itself; see [the reasons](#why-a-partition-waits)',
  },
  StartUnavailable: {
    where: 'reason of a paused partition',
    meaning: 'a workflow could not be started for now; the text begins with the gRPC status',
    remedy: 'tried again by itself; see [the reasons](#why-a-partition-waits)',
  },
  MessageFault: {
    where: 'reason of a dead letter',
    meaning: 'the message is at fault: field, value and remedy',
    remedy: '`inventory dead-letters`',
  },
  TransactionUnavailableError: {
    where: PENDING,
    meaning: 'MongoDB did not complete a transaction, or nobody knows whether it did',
    remedy: 'tried again by itself without end, ledger first',
  },
  WriteConflictError: {
    where: PENDING,
    meaning:
      'somebody else holds what the transaction writes, try after try: a busy stock, or the open transaction of a worker that was killed',
    remedy:
      'tried again by itself without end; MongoDB ends an abandoned transaction after `transactionLifetimeLimitSeconds`',
  },
  BrokenStockError: {
    where: PENDING,
    meaning: "a stock's document holds something that is no quantity, or cannot be read",
    remedy: 'mend the document; the command is tried again by itself',
  },
  BrokenLedgerError: {
    where: PENDING,
    meaning: "the ledger holds a place that the stock's document says is free: it was set back by hand",
    remedy: "restore the stock's `sequence` as the text says; the command is tried again by itself",
  },
  StockMovedError: {
    where: '`adjust --count`',
    meaning: 'the stock moved between the count and the entry',
    remedy: 'nothing was written; `adjust` looks again by itself ten times',
  },
  ResolutionRefused: {
    where: '`parked resolve`, the Update `resolve`',
    meaning: 'a decision does not fit the case, lacks actor or reason, or came too late',
    remedy: '`inventory parked show REF` says what is possible',
  },
  UsageError: {
    where: VERB,
    meaning: 'what was asked for is not known or not possible',
    remedy: 'what the text says; `--help`',
  },
  SpanError: {
    where: '`replay`, `dead-letters`, `audit --topic`; exit code 2',
    meaning: 'topic, partition, times or offsets name no span of the topic',
    remedy: 'what the text says',
  },
  StackError: {
    where: '`npm run stack`, `npm run demo`; exit code 2',
    meaning: 'a local server could not be found, fetched, started or stopped',
    remedy: 'what the text says; the end of its log is shown',
  },
};

export const EXIT_CODES: Record<string, string> = {
  0: 'all is well, or done; a service was told to stop and has drained',
  1: 'a check found something: drift, a fault of the set-up, parked commands that stay parked, dead letters',
  2: 'it could not run, or a service gave up; standard error says why and what to do',
  130: 'a second SIGINT ended a service at once, without draining; nothing is lost',
  143: 'the same by a second SIGTERM',
};

export const LOG_LEVELS: Record<string, string> = {
  fatal: 'not used',
  error: 'a person is needed: records that are lost, a bug',
  warn: 'tried again by itself, or waits for a decision: a server is away, a partition paused, a command parked, a dead letter',
  info: 'the life of the process: starts, joins, goes on, drains, decisions carried out',
  debug:
    'a line for each command and each ignored record; the values that a dead letter names; who decided and why; what the Kafka client tells',
  trace: "the same, and whatever Temporal's SDK traces",
  silent: 'nothing',
};

/** By the closed set of `bridge/records.ts`; what to do is in the runbook. */
export const PAUSES: Record<string, string> = {
  'temporal-unavailable': 'Temporal does not answer, or with an error that goes away by itself',
  'temporal-throttled': 'Temporal asked to slow down, longer than a partition may hold its records',
  'temporal-refused': 'namespace or permission is missing',
  'dead-letter-topic-unavailable': 'the dead-letter topic does not take records',
  'dead-letter-too-large': 'a dead letter is larger than its topic allows',
  'groups-unfinished':
    'the groups that were started are not finished: no worker takes them, or MongoDB is away; more are not started',
  'lost-span': 'records that were never handled are no longer in the topic',
  bug: 'this program failed in a way nobody foresaw',
};
