/** What waits in our partitions: how many records, and for how long the oldest has. */
import { metrics } from '../metrics';
import { partitionName } from './records';
import type { KafkaRecord, TopicPartition } from './records';

interface Waiting {
  of: TopicPartition;
  records: number;
  /** Epoch milliseconds; not known before something waits. */
  since: number | undefined;
}

export class Backlog {
  private readonly waiting = new Map<string, Waiting>();

  /**
   * A share of a fetch is in hand, or the offset has moved within it.
   * @param next offset after what has passed
   * @param passed how many of the share's records that are
   */
  at(
    share: TopicPartition & { records: KafkaRecord[]; highWatermark: bigint },
    next: bigint,
    passed: number,
  ): void {
    const oldest = share.records[passed] ?? share.records.at(-1);
    this.note(share, share.highWatermark - next, oldest && Number(oldest.timestamp));
  }

  /** What the topic holds now, whether or not it can be fetched. */
  holds(partition: TopicPartition, records: bigint): void {
    this.note(partition, records, this.waiting.get(partitionName(partition))?.since ?? Date.now());
  }

  /** After a rebalance: the other partitions are shown by whoever has them now. */
  keepOnly(assigned: readonly TopicPartition[]): void {
    const mine = new Set(assigned.map(partitionName));
    for (const [name, { of }] of this.waiting) {
      if (mine.has(name)) continue;
      this.waiting.delete(name);
      metrics.lag.remove(labels(of));
      metrics.oldestSeconds.remove(labels(of));
    }
  }

  /** Makes the shown ages those of now. */
  refresh(): void {
    for (const one of this.waiting.values()) show(one);
  }

  private note({ topic, partition }: TopicPartition, records: bigint, since: number | undefined): void {
    const of = { topic, partition };
    const count = Math.max(0, Number(records));
    // Forgotten once nothing waits: what comes after an idle hour has not waited for an hour.
    const one = { of, records: count, since: count > 0 ? since : undefined };
    this.waiting.set(partitionName(of), one);
    show(one);
  }
}

function show({ of, records, since }: Waiting): void {
  metrics.lag.set(labels(of), records);
  const seconds = since === undefined ? 0 : (Date.now() - since) / 1_000;
  // A producer's clock may be ahead, and an old record may carry no time (-1).
  metrics.oldestSeconds.set(labels(of), since !== undefined && since <= 0 ? 0 : Math.max(0, seconds));
}

function labels({ topic, partition }: TopicPartition): { topic: string; partition: string } {
  return { topic, partition: String(partition) };
}
