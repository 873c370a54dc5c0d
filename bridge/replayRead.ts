/**
 * Reads exactly the given spans of a topic, under a consumer group of its own that never commits and is deleted
 * afterwards: the live group's offsets are out of its reach.
 */
import { randomUUID } from 'node:crypto';
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { openAdmin } from './kafka';
import { toRecord } from './member';
import type { KafkaRecord } from './records';
import type { Span } from './replaySpans';
import { settlesWithin, sleep } from './waiting';

export interface ReadSettings {
  kafka: Kafka;
  topic: string;
  spans: readonly Span[];
  /** Records of one partition, in offset order, at most `chunk` at once. The next ones come when it resolves. */
  onRecords(records: KafkaRecord[], partition: number): Promise<void>;
  chunk?: number;
  /** Stops after the records that are being handled. */
  signal?: AbortSignal;
  /** A partition that gives nothing for so long is at its end: what is left are markers, or an open transaction. */
  idleMs?: number;
}

export interface ReadResult {
  records: number;
  /** What could not be read, and why; empty when every span was read to its end. */
  notes: string[];
}

/** Rejects with what `onRecords` rejected with, or with the client's error when Kafka cannot be read. */
export async function readSpans(settings: ReadSettings): Promise<ReadResult> {
  const spans = settings.spans.filter(({ from, to }) => from < to);
  if (spans.length === 0) return { records: 0, notes: [] };
  const groupId = `inventory-replay-${randomUUID()}`;
  const reader = new Reader(
    settings,
    spans,
    settings.kafka.consumer({
      groupId,
      sessionTimeout: 60_000,
      heartbeatInterval: 3_000,
      maxWaitTimeInMs: 500,
      allowAutoTopicCreation: false,
      retry: {
        retries: 8,
        initialRetryTime: 200,
        maxRetryTime: 3_000,
        restartOnFailure: () => Promise.resolve(false),
      },
    }),
  );
  try {
    return await reader.read();
  } finally {
    await reader.close();
    await deleteGroup(settings.kafka, groupId);
  }
}

class Reader {
  /** Next offset by partition; a partition that is through is gone. */
  private readonly next: Map<number, bigint>;
  private readonly ends: Map<number, bigint>;
  private records = 0;
  private movedAt = Date.now();
  private working = false;
  private failure: Error | undefined;
  private readonly done = new AbortController();

  constructor(
    private readonly settings: ReadSettings,
    spans: readonly Span[],
    private readonly consumer: Consumer,
  ) {
    this.next = new Map(spans.map(({ partition, from }) => [partition, from]));
    this.ends = new Map(spans.map(({ partition, to }) => [partition, to]));
  }

  async read(): Promise<ReadResult> {
    const { consumer, settings } = this;
    const { topic, signal, idleMs = 10_000 } = settings;
    consumer.on(consumer.events.CRASH, ({ payload }) => this.fail(payload.error));
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) =>
      this.place(payload.memberAssignment[topic] ?? []),
    );
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      // Markers and aborted records only: no record comes of them, and the client goes on by itself.
      if (payload.batchSize === 0) this.moveTo(payload.partition, BigInt(payload.lastOffset) + 1n);
    });
    const stop = () => this.done.abort();
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: (payload) => this.onBatch(payload).catch((error: unknown) => this.fail(error as Error)),
    });
    while (!this.done.signal.aborted) {
      await sleep(200, this.done.signal);
      if (!this.working && Date.now() > this.movedAt + idleMs) break;
    }
    signal?.removeEventListener('abort', stop);
    if (this.failure) throw this.failure;
    return { records: this.records, notes: signal?.aborted ? [] : await this.missed() };
  }

  async close(): Promise<void> {
    this.done.abort();
    // A client that hangs while it leaves must not hold up the answer.
    await settlesWithin(this.consumer.disconnect(), 8_000);
  }

  /** On joining, and again if the group's broker made us join anew: nothing is committed, we know the places. */
  private place(partitions: readonly number[]): void {
    for (const partition of partitions) {
      const next = this.next.get(partition);
      const { topic } = this.settings;
      if (next === undefined) this.consumer.pause([{ topic, partitions: [partition] }]);
      else this.consumer.seek({ topic, partition, offset: next.toString() });
    }
  }

  private async onBatch(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    const { topic, partition } = batch;
    const { settings } = this;
    const { chunk = 500 } = settings;
    const end = this.ends.get(partition) ?? 0n;
    const from = this.next.get(partition);
    if (from === undefined || this.done.signal.aborted) return;
    const wanted = batch.messages.filter(({ offset }) => BigInt(offset) >= from && BigInt(offset) < end);
    this.working = true;
    const alive = setInterval(() => void payload.heartbeat().catch(() => undefined), 2_000);
    try {
      for (let i = 0; i < wanted.length && !this.done.signal.aborted; i += chunk) {
        const records = wanted.slice(i, i + chunk).map((message) => toRecord(topic, partition, message));
        await settings.onRecords(records, partition);
        this.records += records.length;
        this.moveTo(partition, BigInt(records.at(-1)!.offset) + 1n);
      }
    } finally {
      clearInterval(alive);
      this.working = false;
    }
    if (this.done.signal.aborted) return;
    const last = batch.messages.at(-1);
    // The client takes the markers behind the last record along.
    if (last) payload.resolveOffset(last.offset);
    this.moveTo(partition, BigInt(batch.lastOffset()) + 1n);
  }

  private moveTo(partition: number, next: bigint): void {
    this.movedAt = Date.now();
    if (!this.next.has(partition)) return;
    if (next < this.ends.get(partition)!) this.next.set(partition, next);
    else {
      this.next.delete(partition);
      this.consumer.pause([{ topic: this.settings.topic, partitions: [partition] }]);
      if (this.next.size === 0) this.done.abort();
    }
  }

  private fail(error: Error): void {
    this.failure ??= error;
    this.done.abort();
  }

  /** Whatever was deleted while we read, and what a partition would not give. */
  private async missed(): Promise<string[]> {
    const { topic, kafka, spans } = this.settings;
    const admin = await openAdmin(kafka);
    try {
      const marks = await admin.watermarks(topic);
      const notes = [...this.next].map(([partition, next]) =>
        marks.some((mark) => mark.partition === partition)
          ? `${topic}[${partition}]: offsets ${next} to ${this.ends.get(partition)! - 1n} gave no record: ` +
            'transaction markers, compacted away, or of a transaction that is still open'
          : `${topic}[${partition}] is not there any more: offsets from ${next} on were not read`,
      );
      for (const { partition, low } of marks) {
        const from = spans.find((span) => span.partition === partition)?.from;
        if (from !== undefined && low > from) {
          notes.push(
            `${topic}[${partition}]: offsets ${from} to ${low - 1n} were deleted meanwhile; some were not read`,
          );
        }
      }
      return notes;
    } finally {
      await admin.close();
    }
  }
}

/** An empty group vanishes by itself in time; deleted, it does not stand in anybody's list. */
async function deleteGroup(kafka: Kafka, groupId: string): Promise<void> {
  const admin = kafka.admin({ retry: { retries: 2 } });
  try {
    await admin.connect();
    await admin.deleteGroups([groupId]);
  } catch {
    // It holds nothing: neither members nor offsets.
  } finally {
    await settlesWithin(admin.disconnect(), 2_000);
  }
}
