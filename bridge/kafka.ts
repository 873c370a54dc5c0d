/**
 * The only door to the Kafka client (with `member.ts`, the consumer group's side of it): settings, codecs, logs,
 * and the few administrative questions the bridge asks. The client is kafkajs 2.2.4, which has no successor
 * release; whatever replaces it has to fill these interfaces and pass the tests of `bridge`.
 */
import { CompressionCodecs, CompressionTypes, Kafka, logLevel } from 'kafkajs';
import type { Admin, KafkaConfig, LogEntry } from 'kafkajs';
import * as fzstd from 'fzstd';
import { compressFrame, decompressFrame } from 'lz4-napi';
import type { Logger } from '../log';
import { gapGroup, readGap } from './gaps';
import type { AcceptedGap } from './gaps';
import { kafkaFault } from './kafkaFault';

/** How to reach Kafka; `ssl` and `sasl` as the client takes them. */
export interface KafkaSettings {
  brokers: string[];
  clientId: string;
  ssl?: KafkaConfig['ssl'];
  sasl?: KafkaConfig['sasl'];
}

/** A client that can read every compression in use. Connects to nothing yet. */
export function openKafka(settings: KafkaSettings, log: Logger): Kafka {
  registerCodecs();
  return new Kafka({
    brokers: settings.brokers,
    clientId: settings.clientId,
    ...(settings.ssl === undefined ? {} : { ssl: settings.ssl }),
    ...(settings.sasl === undefined ? {} : { sasl: settings.sasl }),
    connectionTimeout: 3_000,
    logLevel: logLevel.INFO,
    logCreator: () => (entry) => toPino(log, entry),
  });
}

/** First and next offset of a partition: it holds the records `low` to `high - 1`. */
export interface Watermarks {
  partition: number;
  low: bigint;
  high: bigint;
}

/** Questions to Kafka. All reject with the client's error when Kafka does not answer. */
export interface KafkaAdmin {
  /** Names of all topics; never creates one. */
  topics(): Promise<string[]>;
  /** Committed offset (the next one to read) by partition; partitions without a commit are left out. */
  committed(groupId: string, topic: string): Promise<Map<number, bigint>>;
  watermarks(topic: string): Promise<Watermarks[]>;
  /** First offset at or after a time; the high watermark where nothing is that young. */
  offsetsAt(topic: string, epochMs: number): Promise<Map<number, bigint>>;
  /** Lost spans of the group that a person accepted, by partition. */
  acceptedGaps(groupId: string, topic: string): Promise<Map<number, AcceptedGap>>;
  close(): Promise<void>;
}

/**
 * Connects an administrative client. Close it, or the process stays alive.
 * @throws KafkaAccessError when Kafka does not let us in as we are set up
 */
export async function openAdmin(kafka: Kafka): Promise<KafkaAdmin> {
  const admin: Admin = kafka.admin({ retry: { initialRetryTime: 200, retries: 5, maxRetryTime: 2_000 } });
  await admin.connect().catch((error: unknown) => {
    throw kafkaFault(error);
  });
  return {
    topics: () => admin.listTopics(),
    committed: async (groupId, topic) => {
      const [answer] = await admin.fetchOffsets({ groupId, topics: [topic] });
      const committed = (answer?.partitions ?? []).map((p) => [p.partition, BigInt(p.offset)] as const);
      // Kafka answers -1 for "never committed"; any negative one is a word of the client's ("earliest"), not a place.
      return new Map(committed.filter(([, offset]) => offset >= 0n));
    },
    watermarks: async (topic) =>
      (await admin.fetchTopicOffsets(topic)).map((p) => ({
        partition: p.partition,
        low: BigInt(p.low),
        high: BigInt(p.high),
      })),
    offsetsAt: async (topic, epochMs) =>
      new Map(
        (await admin.fetchTopicOffsetsByTimestamp(topic, epochMs)).map((p) => [
          p.partition,
          BigInt(p.offset),
        ]),
      ),
    acceptedGaps: async (groupId, topic) => {
      const [answer] = await admin.fetchOffsets({ groupId: gapGroup(groupId), topics: [topic] });
      const gaps = new Map<number, AcceptedGap>();
      for (const { partition, offset, metadata } of answer?.partitions ?? []) {
        const gap = readGap(BigInt(offset), metadata);
        if (gap) gaps.set(partition, gap);
      }
      return gaps;
    },
    close: () => admin.disconnect(),
  };
}

/** One foreign record in an unknown codec stops a consumer for good, so all of Kafka's are known before the first. */
function registerCodecs(): void {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the package has no types
  CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy') as () => unknown;
  CompressionCodecs[CompressionTypes.LZ4] = () => ({
    compress: (encoder: { buffer: Buffer }) => compressFrame(encoder.buffer),
    decompress: (bytes: Buffer) => decompressFrame(bytes),
  });
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: () => Promise.reject(new Error('zstd is read, not written, by this program')),
    decompress: (bytes: Buffer) => Promise.resolve(Buffer.from(fzstd.decompress(bytes))),
  });
}

/**
 * The client's log lines, one level lower than it thinks: what it calls an error it tries again by itself, and
 * when it gives up for good, `consume.ts` says so. Its lines never carry payloads at these levels.
 */
function toPino(log: Logger, entry: LogEntry): void {
  const {
    message,
    timestamp: _,
    logger: __,
    stack: ___,
    ...details
  } = entry.log as LogEntry['log'] & { stack?: string };
  const line = { kafkajs: entry.namespace, ...details };
  if (entry.level <= logLevel.WARN) log.warn(line, message);
  else log.debug(line, message);
}
