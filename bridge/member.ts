/** One member of the consumer group, on kafkajs: what the client does by itself and must not, is held back here. */
import type { ConsumerConfig, EachBatchPayload, Kafka, KafkaMessage, PartitionAssigner } from 'kafkajs';
import { PartitionAssigners } from 'kafkajs';
import type { KafkaRecord, TopicPartition } from './records';

/** One partition's share of a fetch, in offset order. */
export interface FetchedBatch extends TopicPartition {
  records: KafkaRecord[];
  /** Offset after the whole share: markers of transactions, which carry no record, included. */
  end: bigint;
  highWatermark: bigint;
  /** Tells the group this member lives. Rejects when the group is rebalancing or this member is out. */
  heartbeat(): Promise<void>;
  /** The next fetch starts at `next`. Nothing is committed. */
  resolve(next: bigint): void;
  /** Commits `next` for this partition. Rejects when Kafka does, e.g. because the partition is someone else's now. */
  commit(next: bigint): Promise<void>;
  /** False once the member is stopping. */
  isRunning(): boolean;
  /** True once the partition was told to go on elsewhere: these records must not be handled. */
  isStale(): boolean;
}

export interface MemberSettings {
  kafka: Kafka;
  groupId: string;
  topics: string[];
  sessionTimeoutMs: number;
  rebalanceTimeoutMs: number;
  heartbeatIntervalMs: number;
  /** Longest wait of one fetch, and with that of a stop. */
  fetchWaitMs: number;
  partitionsConcurrently: number;
  /** Handles one share. Rejects only with what {@link FetchedBatch.heartbeat} rejected with. */
  onBatch(batch: FetchedBatch): Promise<void>;
  onJoined(assigned: TopicPartition[]): void;
  onLeft(): void;
  /** Kafka delivered only markers or aborted records up to before `next`. */
  onNothingBefore(partition: TopicPartition, next: bigint): void;
  /** A fetch asked for an offset that the topic no longer (or not yet) holds; asked again until it is paused. */
  onOutOfRange(): void;
  /** Something worked: the client is alive. */
  onAlive(): void;
  /** The client gave up and does nothing any more. */
  onEnded(error: Error): void;
}

export interface Member {
  /** Connects, joins and fetches. Failures end in `onEnded`. */
  start(): Promise<void>;
  pause(partition: TopicPartition): void;
  resume(partition: TopicPartition): void;
  /** The next fetch of the partition starts at `next`. */
  seek(partition: TopicPartition, next: bigint): void;
  commit(offsets: (TopicPartition & { next: bigint })[]): Promise<void>;
  /** No new fetch; waits for the batches at work, leaves the group, disconnects. */
  stop(): Promise<void>;
}

export function createMember(settings: MemberSettings): Member {
  const config: ConsumerConfig = {
    groupId: settings.groupId,
    sessionTimeout: settings.sessionTimeoutMs,
    rebalanceTimeout: settings.rebalanceTimeoutMs,
    heartbeatInterval: settings.heartbeatIntervalMs,
    // How much one fetch takes is left to the client, 1 MiB of a partition: 256 KiB and 4 MiB were as fast.
    maxWaitTimeInMs: settings.fetchWaitMs,
    allowAutoTopicCreation: false,
    partitionAssigners: [withoutJumps(() => settings.onOutOfRange())],
    // The client restarts itself after some errors and stays dead after others. One way for all: never by itself,
    // always built anew by us, counted and bounded.
    retry: {
      initialRetryTime: 200,
      maxRetryTime: 3_000,
      retries: 8,
      restartOnFailure: () => Promise.resolve(false),
    },
  };
  const consumer = settings.kafka.consumer(config);
  let stopping = false;
  const events = consumer.events;
  consumer.on(events.GROUP_JOIN, ({ payload }) => {
    const assigned = Object.entries(payload.memberAssignment).flatMap(([topic, partitions]) =>
      partitions.map((partition) => ({ topic, partition })),
    );
    settings.onJoined(assigned);
  });
  consumer.on(events.REBALANCING, () => settings.onLeft());
  consumer.on(events.HEARTBEAT, () => settings.onAlive());
  consumer.on(events.FETCH, () => settings.onAlive());
  consumer.on(events.END_BATCH_PROCESS, ({ payload }) => {
    if (payload.batchSize === 0) settings.onNothingBefore(payload, BigInt(payload.lastOffset) + 1n);
  });
  consumer.on(events.CRASH, ({ payload }) => settings.onEnded(payload.error));
  consumer.on(events.DISCONNECT, () => {
    if (stopping) return;
    // A crash disconnects first and says why afterwards; a disconnect that nobody explains ends this member too.
    setTimeout(() => settings.onEnded(new Error('the Kafka client disconnected by itself')), 500).unref();
  });

  return {
    start: async () => {
      await consumer.connect();
      await consumer.subscribe({ topics: settings.topics, fromBeginning: true });
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: settings.partitionsConcurrently,
        eachBatch: (payload) => settings.onBatch(toBatch(payload)),
      });
    },
    pause: ({ topic, partition }) => consumer.pause([{ topic, partitions: [partition] }]),
    resume: ({ topic, partition }) => consumer.resume([{ topic, partitions: [partition] }]),
    seek: ({ topic, partition }, next) => consumer.seek({ topic, partition, offset: next.toString() }),
    commit: (offsets) =>
      consumer.commitOffsets(
        offsets.map(({ topic, partition, next }) => ({ topic, partition, offset: next.toString() })),
      ),
    stop: async () => {
      stopping = true;
      await consumer.disconnect();
    },
  };
}

/**
 * When a fetch is out of range, kafkajs moves the group's offset to the topic's beginning or end and goes on as if
 * nothing had happened: records are skipped in silence. On that way it asks its cluster for the default offset, and
 * the assigner is the one public place that is handed this cluster. So there is no default here: the question is
 * refused, nothing is committed, and the fetch is tried again until the partition is paused.
 */
function withoutJumps(onOutOfRange: () => void): PartitionAssigner {
  return (config) => {
    const cluster = config.cluster;
    const fetchTopicsOffset = cluster.fetchTopicsOffset.bind(cluster);
    // The only other user of the default; it gets Kafka's own words for the beginning (-2) and the end (-1).
    cluster.fetchTopicsOffset = (topics) =>
      fetchTopicsOffset(
        topics.map((t) => ({
          topic: t.topic,
          partitions: t.partitions,
          fromTimestamp: t.fromTimestamp ?? (t.fromBeginning === true ? -2 : -1),
        })),
      );
    cluster.defaultOffset = () => {
      onOutOfRange();
      throw Object.assign(new Error('the offset is out of range and is not moved by guess'), {
        retriable: true,
      });
    };
    return PartitionAssigners.roundRobin(config);
  };
}

function toBatch({ batch, ...client }: EachBatchPayload): FetchedBatch {
  const { topic, partition } = batch;
  const end = BigInt(batch.lastOffset()) + 1n;
  const lastRecord = BigInt(batch.messages.at(-1)?.offset ?? -1n);
  return {
    topic,
    partition,
    records: batch.messages.map((message) => toRecord(topic, partition, message)),
    end,
    highWatermark: BigInt(batch.highWatermark),
    heartbeat: () => client.heartbeat(),
    // The client takes the last record's offset for the whole share, and its control records with it.
    resolve: (next) => client.resolveOffset((next === end ? lastRecord : next - 1n).toString()),
    commit: (next) =>
      client.commitOffsetsIfNecessary({
        topics: [{ topic, partitions: [{ partition, offset: next.toString() }] }],
      }),
    isRunning: () => client.isRunning(),
    isStale: () => client.isStale(),
  };
}

/** A record as every part of this program takes it, whatever reads it. */
export function toRecord(topic: string, partition: number, message: KafkaMessage): KafkaRecord {
  const { offset, timestamp, key, value } = message;
  const headers = Object.entries(message.headers ?? {}).map(([name, read]) => [name, headerValues(read)]);
  return { topic, partition, offset, timestamp, key, value, headers: Object.fromEntries(headers) as Headers };
}

type Headers = NonNullable<KafkaRecord['headers']>;

/**
 * The client collects headers in a plain object, so a header called `constructor` comes with what JavaScript keeps
 * under that name in front of its own values. Only bytes, text and Kafka's null are values of a header.
 */
function headerValues(read: unknown): unknown {
  if (!Array.isArray(read)) return read;
  const values = (read as unknown[]).filter((v): v is Buffer | string | null => {
    return v === null || typeof v === 'string' || Buffer.isBuffer(v);
  });
  return values.length === 1 ? values[0] : values;
}
