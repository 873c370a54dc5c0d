/**
 * Dead letters: records that cannot become a command through a fault of their own. They are kept byte for byte in
 * a topic of their own, with headers that say where they come from and what is wrong.
 */
import { Partitioners } from 'kafkajs';
import type { IHeaders, Kafka, Producer } from 'kafkajs';
import { metrics } from '../metrics';
import { Unavailable } from './records';
import type { KafkaRecord } from './records';
import { settlesWithin } from './waiting';

/**
 * Names of the headers. A record that comes back and dies again carries every one of them once for each death,
 * oldest first, as Kafka allows.
 */
export const DEAD_LETTER_HEADERS = {
  topic: 'inventory.dead-letter.topic',
  partition: 'inventory.dead-letter.partition',
  offset: 'inventory.dead-letter.offset',
  /** Of the record, epoch milliseconds. */
  timestamp: 'inventory.dead-letter.timestamp',
  reason: 'inventory.dead-letter.reason',
  /** When it was written here, ISO 8601. */
  at: 'inventory.dead-letter.at',
  /** Headers that had no value (Kafka's null, which the client cannot write): here they are empty. */
  nullHeaders: 'inventory.dead-letter.null-headers',
} as const;

export interface DeadLetters {
  /**
   * Resolves when all in-sync replicas have the record.
   * @throws Unavailable when it could not be written; the record must not pass
   */
  write(record: KafkaRecord, reason: string): Promise<void>;
  /** Bounded. */
  close(): Promise<void>;
}

export function createDeadLetters(kafka: Kafka, topic: string): DeadLetters {
  let producer: Promise<Producer> | undefined;
  let closed = false;

  async function connect(): Promise<Producer> {
    const created = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      // Named, because the client's default has changed once: the same key would land elsewhere.
      createPartitioner: Partitioners.DefaultPartitioner,
      // Few tries: waiting belongs to the consumer, which keeps the group's heartbeat and says what it waits for.
      retry: { initialRetryTime: 100, retries: 2, maxRetryTime: 500 },
    });
    await created.connect();
    return created;
  }

  async function forget(): Promise<void> {
    const old = producer;
    producer = undefined;
    if (old)
      await settlesWithin(
        old.then((p) => p.disconnect()),
        2_000,
      );
  }

  return {
    write: async (record, reason) => {
      const { key, value } = record;
      const headers = headersOf(record, reason, new Date());
      // A record that is still at work while we stop would open connections that nobody closes.
      if (closed) throw new Unavailable('dead-letter-topic-unavailable', 'the bridge is stopping');
      const used = (producer ??= connect());
      try {
        await (await used).send({ topic, acks: -1, timeout: 5_000, messages: [{ key, value, headers }] });
      } catch (error) {
        // After some errors the client's sequence numbers no longer fit the broker's; a new producer has none.
        if (producer === used) void forget();
        throw unavailable(topic, error);
      }
      metrics.deadLetters.inc({ topic: record.topic });
    },
    close: () => {
      closed = true;
      return forget();
    },
  };
}

function headersOf(record: KafkaRecord, reason: string, at: Date): IHeaders {
  const headers: IHeaders = {};
  const empty: string[] = [];
  for (const [name, read] of Object.entries((record.headers ?? {}) as Record<string, unknown>)) {
    const values = (Array.isArray(read) ? (read as unknown[]) : [read]).map((value) => {
      if (typeof value === 'string' || Buffer.isBuffer(value)) return value;
      empty.push(name);
      return Buffer.alloc(0);
    });
    // Not an assignment: a header may be called `__proto__`.
    Object.defineProperty(headers, name, {
      value: values,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  const add = (name: string, value: string) => {
    headers[name] = [...((headers[name] as (Buffer | string)[] | undefined) ?? []), value];
  };
  add(DEAD_LETTER_HEADERS.topic, record.topic);
  add(DEAD_LETTER_HEADERS.partition, String(record.partition));
  add(DEAD_LETTER_HEADERS.offset, record.offset);
  add(DEAD_LETTER_HEADERS.timestamp, record.timestamp);
  add(DEAD_LETTER_HEADERS.reason, reason);
  add(DEAD_LETTER_HEADERS.at, at.toISOString());
  if (empty.length > 0) add(DEAD_LETTER_HEADERS.nullHeaders, [...new Set(empty)].join(', '));
  return headers;
}

/** No failure to write is the record's loss: too large for the topic is a matter of the topic's limit. */
function unavailable(topic: string, error: unknown): Unavailable {
  const message = error instanceof Error ? error.message : String(error);
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { type } = cause as { type?: unknown };
    if (type === 'MESSAGE_TOO_LARGE' || type === 'RECORD_LIST_TOO_LARGE') {
      const remedy = 'raise max.message.bytes of the topic above that of the topics it takes from';
      return new Unavailable('dead-letter-too-large', `${topic}: ${message}; ${remedy}`, { cause: error });
    }
  }
  return new Unavailable('dead-letter-topic-unavailable', `${topic}: ${message}`, { cause: error });
}
