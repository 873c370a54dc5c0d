/**
 * Consumes for as long as the process lives: one session after the other. When the Kafka client gives up, the next
 * session is built after a growing wait; after too many without progress in between, this gives up as well, so that
 * the process ends with an error instead of looking healthy.
 */
import type { Kafka } from 'kafkajs';
import { crashPoint } from '../crashPoint';
import type { Logger } from '../log';
import { metrics } from '../metrics';
import type { BatchLimits } from './batch';
import type { DeadLetters } from './deadLetters';
import { openAdmin } from './kafka';
import { KafkaAccessError } from './kafkaFault';
import type { PauseLimits } from './pauses';
import { planStart, refuseMissingTopics, StartPositionError } from './positions';
import type { StartPlan, StartSettings } from './positions';
import type { Decoded, KafkaRecord } from './records';
import { Session } from './session';
import type { Starter } from './start';
import { jittered, settlesWithin, sleep } from './waiting';

export interface ConsumerLimits extends BatchLimits, PauseLimits {
  sessionTimeoutMs: number;
  rebalanceTimeoutMs: number;
  heartbeatIntervalMs: number;
  fetchWaitMs: number;
  partitionsConcurrently: number;
  /** Sessions in a row that may end without a record passed in any of them. */
  rebuildTries: number;
  /** First wait between sessions; doubles up to `rebuildMaxMs`. */
  rebuildMs: number;
  rebuildMaxMs: number;
  /** A drain takes no longer than this. */
  drainMs: number;
}

export const CONSUMER_LIMITS: ConsumerLimits = {
  sessionTimeoutMs: 30_000,
  rebalanceTimeoutMs: 60_000,
  heartbeatIntervalMs: 3_000,
  // Every fetch and every stop may wait this long; a record that arrives ends the wait at once.
  fetchWaitMs: 1_000,
  // A fetch waits for its slowest partition, so all of them work at once rather than one after the other.
  partitionsConcurrently: 16,
  // Enough for two large groups: while one is started, the next fills. 6,000 and 8,000 were no faster, 16,000 slower:
  // decoding held the first groups up, and what waits decoded is dear for the garbage collector.
  pending: 4_000,
  deadlineMs: 10_000,
  probeMs: 2_000,
  settleMs: 6_000,
  commitEveryMs: 1_000,
  pauseMs: 1_000,
  pauseMaxMs: 60_000,
  rebuildTries: 10,
  rebuildMs: 1_000,
  rebuildMaxMs: 30_000,
  drainMs: 15_000,
};

export interface ConsumerSettings extends StartSettings {
  kafka: Kafka;
  decode: (record: KafkaRecord) => Decoded;
  starter: Starter;
  deadLetters: DeadLetters;
  limits?: Partial<ConsumerLimits>;
  log: Logger;
}

export interface RunningConsumer {
  /** Why records are not flowing everywhere, one text each; empty when all is well. */
  reasons(): string[];
  /** No new fetch; begun work finishes, its offsets are committed, the group is left. Bounded by `drainMs`. */
  drain(): Promise<void>;
  /** Resolves after a drain; rejects with {@link GaveUp} when the consumer cannot go on. */
  done: Promise<void>;
}

/** The consumer cannot go on and this process should end; whatever restarts it may find better times. */
export class GaveUp extends Error {
  override readonly name = 'GaveUp';
}

/**
 * Resolves when the first session fetches.
 * @throws StartPositionError when the set-up is at fault (missing topic, no start position): do not try again
 * @throws KafkaAccessError when Kafka does not let us in (password, certificate)
 * @throws GaveUp when Kafka could not be reached in `rebuildTries` tries
 */
export async function runConsumer(settings: ConsumerSettings): Promise<RunningConsumer> {
  const limits = { ...CONSUMER_LIMITS, ...settings.limits };
  refuseImpossible(limits);
  const consumer = new Consumer(settings, limits);
  const done = consumer.run();
  done.catch(() => undefined);
  await Promise.race([consumer.started, done]);
  return { reasons: () => consumer.reasons(), drain: () => consumer.drain(), done };
}

class Consumer {
  readonly started: Promise<void>;
  private markStarted: () => void = () => undefined;
  private session: Session | undefined;
  private plan: StartPlan | undefined;
  private lastFailure: Error | undefined;
  private readonly draining = new AbortController();
  private over: Promise<void> = Promise.resolve();

  constructor(
    private readonly settings: ConsumerSettings,
    private readonly limits: ConsumerLimits,
  ) {
    this.started = new Promise((resolve) => (this.markStarted = resolve));
  }

  run(): Promise<void> {
    return (this.over = this.sessions());
  }

  reasons(): string[] {
    if (this.draining.signal.aborted) return ['draining'];
    return this.session?.reasons() ?? [`no connection to Kafka: ${this.lastFailure?.message ?? 'starting'}`];
  }

  async drain(): Promise<void> {
    this.draining.abort();
    crashPoint('during-drain');
    await settlesWithin(this.over, this.limits.drainMs);
  }

  private async sessions(): Promise<void> {
    const { log } = this.settings;
    for (let tries = 1; !this.draining.signal.aborted; tries++) {
      const failure = await this.oneSession().catch((error: unknown) => error as Error);
      const progressed = this.session?.progressed ?? false;
      this.session = undefined;
      if (this.draining.signal.aborted) return;
      if (failure instanceof StartPositionError) throw failure;
      // Wrong from the start; what was right once may be so again, as when certificates are renewed one by one.
      if (failure instanceof KafkaAccessError && !this.plan) throw failure;
      this.lastFailure = failure ?? new Error('the session ended');
      if (progressed) tries = 1;
      if (tries >= this.limits.rebuildTries) {
        throw new GaveUp(`the Kafka consumer failed ${tries} times in a row: ${this.lastFailure.message}`, {
          cause: failure,
        });
      }
      const waitMs = jittered(Math.min(this.limits.rebuildMs * 2 ** (tries - 1), this.limits.rebuildMaxMs));
      log.warn(
        { err: failure, tries, waitMs: Math.round(waitMs) },
        'the Kafka consumer ended and is built again',
      );
      metrics.rebuilds.inc();
      await sleep(waitMs, this.draining.signal);
    }
  }

  /** Resolves with why the session ended. */
  private async oneSession(): Promise<Error | undefined> {
    const { kafka, log } = this.settings;
    const admin = await openAdmin(kafka);
    try {
      // The plan is made once: a later session must not take a later "latest".
      if (this.plan) await refuseMissingTopics(admin, this.settings);
      else this.plan = await planStart(admin, this.settings, log);
      const session = (this.session = new Session(this.settings, this.limits, admin, this.plan));
      try {
        await session.start();
        this.markStarted();
        const drained = new Promise<undefined>((resolve) => {
          if (this.draining.signal.aborted) resolve(undefined);
          this.draining.signal.addEventListener('abort', () => resolve(undefined), { once: true });
        });
        return await Promise.race([session.ended, drained]);
      } finally {
        await session.stop();
      }
    } finally {
      await settlesWithin(admin.close(), 2_000);
    }
  }
}

function refuseImpossible(limits: ConsumerLimits): void {
  const longest = limits.deadlineMs + limits.settleMs;
  if (longest >= limits.sessionTimeoutMs) {
    throw new RangeError(
      `deadlineMs + settleMs (${longest}) must stay below sessionTimeoutMs (${limits.sessionTimeoutMs}), or the group takes a waiting member for a dead one`,
    );
  }
}
