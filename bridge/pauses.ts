/**
 * Partitions that wait. Every pause has a reason, a log line, a metric, and an end: it is tried again by itself, at
 * growing intervals, so that nobody has to notice it for work to go on.
 */
import type { Logger } from '../log';
import { metrics } from '../metrics';
import { partitionName } from './records';
import type { PauseReason, TopicPartition } from './records';
import { jittered } from './waiting';

export interface PauseLimits {
  /** First wait; each further one of the same partition is twice as long. */
  pauseMs: number;
  pauseMaxMs: number;
}

interface Pause extends TopicPartition {
  reason: PauseReason;
  detail: string;
  since: number;
  timer: NodeJS.Timeout;
}

export class Pauses {
  private readonly paused = new Map<string, Pause>();
  /** Pauses in a row, by partition: forgotten when a record passes. */
  private readonly inARow = new Map<string, number>();

  constructor(
    private readonly client: { pause(p: TopicPartition): void; resume(p: TopicPartition): void },
    private readonly limits: PauseLimits,
    private readonly log: Logger,
  ) {}

  /**
   * Stops fetching the partition and tries again later. A second pause replaces the first.
   * @param mayResume asked when the wait is over; `false` waits again (a lost span that is still lost)
   */
  pause(
    partition: TopicPartition,
    reason: PauseReason,
    detail: string,
    mayResume = () => Promise.resolve(true),
  ): void {
    const name = partitionName(partition);
    const before = this.paused.get(name);
    if (before) this.forget(name, before);
    else this.client.pause(partition);
    const count = (this.inARow.get(name) ?? 0) + 1;
    this.inARow.set(name, count);
    const waitMs = jittered(Math.min(this.limits.pauseMs * 2 ** (count - 1), this.limits.pauseMaxMs));
    const timer = setTimeout(() => void this.over(name, mayResume), waitMs);
    this.paused.set(name, { ...partition, reason, detail, since: before?.since ?? Date.now(), timer });
    metrics.pausedPartitions.inc({ reason });
    if (before?.reason === reason) return;
    metrics.pauses.inc({ reason });
    this.log.warn({ partition: name, reason, waitMs: Math.round(waitMs) }, `partition paused: ${detail}`);
  }

  /** Records pass again: the next pause starts with the shortest wait. */
  passed(partition: TopicPartition): void {
    this.inARow.delete(partitionName(partition));
  }

  /** True when the partition was paused and nothing has passed since: the next try is only a probe. */
  isProbing(partition: TopicPartition): boolean {
    return this.inARow.has(partitionName(partition));
  }

  isPaused(partition: TopicPartition, reason?: PauseReason): boolean {
    const pause = this.paused.get(partitionName(partition));
    return pause !== undefined && (reason === undefined || pause.reason === reason);
  }

  /** One text for each paused partition, e.g. `orders[3]: temporal-unavailable for 12 s`. */
  reasons(): string[] {
    return [...this.paused].map(([name, p]) => {
      return `${name}: ${p.reason} for ${Math.round((Date.now() - p.since) / 1000)} s (${p.detail})`;
    });
  }

  /** After a rebalance: partitions that are someone else's now are that member's to pause. */
  keepOnly(assigned: TopicPartition[]): void {
    const mine = new Set(assigned.map(partitionName));
    for (const [name, pause] of this.paused) if (!mine.has(name)) this.end(name, pause);
    for (const name of this.inARow.keys()) if (!mine.has(name)) this.inARow.delete(name);
  }

  /** Ends every pause; no timer is left. */
  clear(): void {
    for (const [name, pause] of this.paused) this.end(name, pause);
  }

  private async over(name: string, mayResume: () => Promise<boolean>): Promise<void> {
    const pause = this.paused.get(name);
    if (!pause) return;
    const resume = await mayResume().catch((error: unknown) => {
      this.log.warn({ partition: name, err: error }, 'cannot tell whether the partition may go on');
      return false;
    });
    // Meanwhile the partition may have been revoked or paused anew.
    if (this.paused.get(name) !== pause) return;
    if (!resume) return this.pause(pause, pause.reason, pause.detail, mayResume);
    this.log.info({ partition: name, reason: pause.reason }, 'partition goes on');
    this.end(name, pause);
  }

  private end(name: string, pause: Pause): void {
    this.forget(name, pause);
    try {
      this.client.resume(pause);
    } catch {
      // The client is gone, and its pauses with it.
    }
  }

  private forget(name: string, pause: Pause): void {
    clearTimeout(pause.timer);
    this.paused.delete(name);
    metrics.pausedPartitions.dec({ reason: pause.reason });
  }
}
