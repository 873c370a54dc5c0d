/**
 * One partition's share of a fetch: every record's work is begun in order and in bounded number, finished in any
 * order, and the offset follows the contiguous prefix whose work is durable. Nothing else moves an offset.
 */
import { setMaxListeners } from 'node:events';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { crashPointSoon } from '../crashPoint';
import type { Logger } from '../log';
import { metrics } from '../metrics';
import type { FetchedBatch } from './member';
import type { Pauses } from './pauses';
import { partitionName, reasonOf } from './records';
import type { Decoded, KafkaRecord } from './records';
import { jittered, settlesWithin, sleep } from './waiting';

export interface BatchLimits {
  /** Records begun and not yet durable; a batch begins no more than its share of them among the batches at work. */
  pending: number;
  /** A partition in which nothing became durable for this long is paused. Well below the session timeout. */
  deadlineMs: number;
  /** The same for the first records after a pause: one sick partition must not hold up the others for long. */
  probeMs: number;
  /** How long work that was begun may still take when the batch has to stop. */
  settleMs: number;
  /** Between commits within a long batch. */
  commitEveryMs: number;
}

export interface BatchContext {
  /** Resolves when what the record stands for is durable; rejects when it may be tried again. */
  handle(record: KafkaRecord, signal: AbortSignal): Promise<Decoded>;
  /** Fields of a log line about a record. */
  about(record: KafkaRecord): object;
  limits: BatchLimits;
  /** Batches that share `limits.pending` now, this one among them. */
  batches(): number;
  pauses: Pauses;
  /** The offset passed to `next`, after the first `records` of the batch; `committed` says whether Kafka knows. */
  onPassed(next: bigint, records: number, committed: boolean): void;
  /** True when the partition may be someone else's since the batch was fetched. */
  isLost(): boolean;
  log: Logger;
}

/**
 * Of all batches, between two looks at everything else: about 20 ms of decoding. Thousands in one go held up
 * transactions, heartbeats and starts for more than a second.
 */
const BEGUN_AT_ONCE = 200;

/** Rejects only with a heartbeat's error, which the client needs for joining again. */
export async function handleBatch(batch: FetchedBatch, context: BatchContext): Promise<void> {
  const { limits, pauses, log } = context;
  const name = partitionName(batch);
  const stop = new AbortController();
  // One listener for each record that waits to be tried again, by design.
  setMaxListeners(0, stop.signal);
  const work = new Work(batch, context);
  const probing = pauses.isProbing(batch);
  const pool = work.run(probing, stop.signal);
  const passed = new Passed(batch, work, context);
  let stoppedAt = Infinity;
  let silent = false;
  try {
    for (;;) {
      const finished = await settlesWithin(pool, 200);
      if (context.isLost() || batch.isStale())
        return log.info({ partition: name }, 'batch left: not ours any more');
      if (finished || passed.isDue()) await passed.commit();
      if (finished || Date.now() > stoppedAt + limits.settleMs) break;
      // Goes on through every wait and back-off: the group must not take a slow server for a dead member.
      await batch.heartbeat();
      if (stop.signal.aborted) continue;
      silent = Date.now() > work.progressAt + (probing ? limits.probeMs : limits.deadlineMs);
      if (silent || !batch.isRunning()) {
        stop.abort();
        stoppedAt = Date.now();
      }
    }
  } catch (error) {
    // The group is rebalancing. What is durable by now is committed while the partition is still ours: Kafka
    // refuses otherwise, and then the records come again.
    stop.abort();
    await settlesWithin(pool, limits.settleMs);
    if (!context.isLost()) await passed.commit();
    throw error;
  } finally {
    stop.abort();
  }
  if (work.isDone() || !silent) return;
  const failure = work.firstFailure();
  const offset = batch.records[work.prefix]?.offset;
  const reason = failure === undefined ? 'temporal-unavailable' : reasonOf(failure);
  pauses.pause(
    batch,
    reason,
    `offset ${offset}: ${failure instanceof Error ? failure.message : 'no answer'}`,
  );
}

/** The work of a batch: who is done, up to where without a hole, and when something was last finished. */
class Work {
  /** Records from the first on whose work is durable, without a hole. */
  prefix = 0;
  progressAt = Date.now();
  readonly became: (Decoded | undefined)[];
  private readonly failures = new Map<number, unknown>();
  private next = 0;
  private atWork = 0;
  private oneEnded: () => void = () => undefined;

  constructor(
    private readonly batch: FetchedBatch,
    private readonly context: BatchContext,
  ) {
    this.became = new Array<Decoded | undefined>(batch.records.length).fill(undefined);
  }

  isDone(): boolean {
    return this.prefix === this.became.length;
  }

  /** What the record at the head of the undone ones failed with last; `undefined` when it got no answer. */
  firstFailure(): unknown {
    return this.failures.get(this.prefix);
  }

  /** Never rejects. While probing, nothing is begun before the record that failed last time is durable. */
  async run(probing: boolean, signal: AbortSignal): Promise<void> {
    while (this.next < this.batch.records.length && !signal.aborted) {
      const batches = this.context.batches();
      const most = probing && this.prefix === 0 ? 1 : Math.ceil(this.context.limits.pending / batches);
      const atOnce = Math.min(Math.ceil(BEGUN_AT_ONCE / batches), most - this.atWork);
      for (let n = 0; n < atOnce && this.next < this.batch.records.length; n++) {
        const index = this.next++;
        void this.untilDurable(index, this.batch.records[index]!, signal);
      }
      if (this.atWork >= most) await this.untilOneEnds();
      await yieldToOthers();
    }
    while (this.atWork > 0) await this.untilOneEnds();
  }

  private untilOneEnds(): Promise<void> {
    return new Promise((resolve) => (this.oneEnded = resolve));
  }

  /** Never rejects. */
  private async untilDurable(index: number, record: KafkaRecord, signal: AbortSignal): Promise<void> {
    this.atWork++;
    await this.tryUntilDurable(index, record, signal);
    this.atWork--;
    this.oneEnded();
  }

  private async tryUntilDurable(index: number, record: KafkaRecord, signal: AbortSignal): Promise<void> {
    const beganAt = Date.now();
    for (let tries = 1; !signal.aborted; tries++) {
      try {
        const decoded = await this.context.handle(record, signal);
        if (decoded.became === 'command') metrics.startSeconds.observe((Date.now() - beganAt) / 1000);
        this.became[index] = decoded;
        this.failures.delete(index);
        while (this.became[this.prefix] !== undefined) this.prefix++;
        this.progressAt = Date.now();
        return;
      } catch (error) {
        if (signal.aborted && this.failures.has(index)) return;
        this.failures.set(index, error);
        if (tries === 1 && reasonOf(error) === 'bug') {
          const about = { ...this.context.about(record), err: error };
          this.context.log.error(about, 'a record cannot be handled: a bug');
        }
        await sleep(jittered(Math.min(100 * 2 ** (tries - 1), 3_000)), signal);
      }
    }
  }
}

/** Moves the offset after the prefix. */
class Passed {
  private upTo = 0;
  private committedAt = Date.now();

  constructor(
    private readonly batch: FetchedBatch,
    private readonly work: Work,
    private readonly context: BatchContext,
  ) {}

  isDue(): boolean {
    return this.work.prefix > this.upTo && Date.now() > this.committedAt + this.context.limits.commitEveryMs;
  }

  /** Never rejects: Kafka may refuse a commit after a rebalance, and the ledger absorbs the repetition. */
  async commit(): Promise<void> {
    const { batch, work, context } = this;
    const { prefix } = work;
    if (prefix === this.upTo) return;
    const next = work.isDone() ? batch.end : BigInt(batch.records[prefix - 1]?.offset ?? 0) + 1n;
    batch.resolve(next);
    context.pauses.passed(batch);
    for (let i = this.upTo; i < prefix; i++) count(batch.topic, work.became[i] as Decoded);
    this.upTo = prefix;
    this.committedAt = Date.now();
    try {
      const committing = batch.commit(next);
      crashPointSoon('during-commit');
      await committing;
      context.onPassed(next, prefix, true);
    } catch (error) {
      metrics.commitFailures.inc();
      context.log.warn(
        { partition: partitionName(batch), offset: next.toString(), err: error },
        'commit rejected',
      );
      context.onPassed(next, prefix, false);
    }
  }
}

function count(topic: string, decoded: Decoded): void {
  metrics.records.inc({ topic, became: decoded.became });
  if (decoded.became === 'ignored') metrics.ignored.inc({ topic, reason: decoded.reason });
}
