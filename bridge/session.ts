/**
 * One life of the consumer, from joining the group until the client ends or we drain: knows which partitions are
 * ours, where each stands, and which are paused.
 */
import { crashPoint } from '../crashPoint';
import type { Logger } from '../log';
import { metrics } from '../metrics';
import { Backlog } from './backlog';
import { handleBatch } from './batch';
import type { BatchContext } from './batch';
import type { ConsumerLimits, ConsumerSettings } from './consume';
import { handleRecord } from './handle';
import type { KafkaAdmin, Watermarks } from './kafka';
import { createMember } from './member';
import type { FetchedBatch, Member } from './member';
import { Pauses } from './pauses';
import { lostSpan } from './positions';
import type { StartPlan } from './positions';
import { partitionName } from './records';
import type { TopicPartition } from './records';
import { aboutRecord } from './tell';
import { traceRecord } from './trace';
import { settlesWithin, sleep } from './waiting';

/** How often lag, uncommitted offsets and signs of life are looked at. */
const UPKEEP_MS = 5_000;

export class Session {
  /** Why this session ended. */
  readonly ended: Promise<Error>;
  private passedRecords = false;
  private joinedAt: number | undefined;
  private readonly member: Member;
  private readonly pauses: Pauses;
  private readonly backlog = new Backlog();
  private readonly log: Logger;
  private readonly upkeep: NodeJS.Timeout;
  private end: (error: Error) => void = () => undefined;
  private stopping = false;
  private aliveAt = Date.now();
  /** Counts joins: work that began before a rebalance must not move offsets after it. */
  private generation = 0;
  private assigned: TopicPartition[] | undefined;
  private prepared: Promise<void> = Promise.resolve();
  private checking = false;
  /** Batches at work. */
  private batches = 0;
  /** Next offset to handle, by partition. */
  private readonly positions = new Map<string, bigint>();
  /** Offsets that passed and that Kafka does not know yet. */
  private readonly uncommitted = new Map<string, TopicPartition & { next: bigint }>();

  constructor(
    private readonly settings: ConsumerSettings,
    private readonly limits: ConsumerLimits,
    private readonly admin: KafkaAdmin,
    private readonly plan: StartPlan,
  ) {
    this.log = settings.log;
    this.ended = new Promise((resolve) => (this.end = resolve));
    this.member = createMember({
      ...limits,
      kafka: settings.kafka,
      groupId: settings.groupId,
      topics: settings.topics,
      onBatch: (batch) => this.onBatch(batch),
      onJoined: (assigned) => this.onJoined(assigned),
      onLeft: () => (this.assigned = undefined),
      onNothingBefore: (partition, next) => this.moveTo(partition, next, false),
      onOutOfRange: () => void this.pauseLost(),
      onAlive: () => (this.aliveAt = Date.now()),
      onEnded: (error) => this.end(error),
    });
    this.pauses = new Pauses(this.member, limits, this.log);
    this.upkeep = setInterval(
      () => void this.keepUp().catch((err: unknown) => this.log.debug({ err }, 'upkeep')),
      UPKEEP_MS,
    );
  }

  start(): Promise<void> {
    return this.member.start();
  }

  /** A record passed, or the session stood for long: what ended it is not what ended the one before. */
  get progressed(): boolean {
    const stoodMs = this.joinedAt === undefined ? 0 : Date.now() - this.joinedAt;
    return this.passedRecords || stoodMs > this.limits.sessionTimeoutMs * 2;
  }

  reasons(): string[] {
    return this.assigned ? this.pauses.reasons() : ['not a member of the consumer group'];
  }

  /** Bounded: a disconnect that hangs must not hold up the process (it does at times, while rebalancing). */
  async stop(): Promise<void> {
    clearInterval(this.upkeep);
    // Before the client stops: afterwards it drops commits without a word.
    if (this.assigned) await settlesWithin(this.commitLeftovers(), 2_000);
    this.stopping = true;
    const inTime = await settlesWithin(
      this.member.stop(),
      this.limits.settleMs + this.limits.fetchWaitMs + 3_000,
    );
    if (!inTime) this.log.warn('the Kafka client did not disconnect in time and is left to itself');
    this.pauses.clear();
    this.backlog.keepOnly([]);
  }

  private onJoined(assigned: TopicPartition[]): void {
    metrics.rebalances.inc();
    this.log.info({ assigned: assigned.map(partitionName) }, 'joined the consumer group');
    this.aliveAt = Date.now();
    this.joinedAt ??= Date.now();
    this.generation++;
    this.assigned = assigned;
    this.positions.clear();
    this.uncommitted.clear();
    this.pauses.keepOnly(assigned);
    this.backlog.keepOnly(assigned);
    this.prepared = this.prepare(this.generation, assigned);
  }

  /** Learns where each partition stands; never rejects. Nothing is handled before it is done. */
  private async prepare(generation: number, assigned: TopicPartition[]): Promise<void> {
    while (generation === this.generation && !this.stopping) {
      try {
        const starts: (TopicPartition & { next: bigint })[] = [];
        for (const topic of new Set(assigned.map((p) => p.topic))) {
          const committed = await this.admin.committed(this.settings.groupId, topic);
          const marks = await this.admin.watermarks(topic);
          if (generation !== this.generation) return;
          for (const at of marks) {
            const own = assigned.find((p) => p.topic === topic && p.partition === at.partition);
            if (own) this.place(own, committed.get(at.partition), at, starts);
          }
        }
        // Committed before the first record, so that whoever gets the partition next starts at the same place.
        if (starts.length > 0) await this.member.commit(starts);
        return;
      } catch (error) {
        this.log.warn({ err: error }, 'cannot learn where the partitions stand; trying again');
        await sleep(1_000);
      }
    }
  }

  private place(
    own: TopicPartition,
    committed: bigint | undefined,
    at: Watermarks,
    starts: (TopicPartition & { next: bigint })[],
  ): void {
    // A partition that is not in the plan was created after this process started: from its beginning.
    const next = committed ?? this.plan.get(partitionName(own)) ?? at.low;
    if (committed === undefined) {
      this.member.seek(own, next);
      starts.push({ ...own, next });
    }
    this.positions.set(partitionName(own), next);
    this.pauseIfLost(own, next, at);
  }

  private async onBatch(batch: FetchedBatch): Promise<void> {
    // A client that did not stop when told to must not go on with a session that is over: this makes it crash.
    if (this.stopping) throw new Error('this session is over');
    const generation = this.generation;
    while (!(await settlesWithin(this.prepared, 500))) {
      await batch.heartbeat();
      if (!batch.isRunning()) return;
    }
    // Fetched before the partition was paused or told where to start: it is fetched again from the right place.
    if (generation !== this.generation || batch.isStale() || this.pauses.isPaused(batch)) return;
    crashPoint('after-fetch');
    this.backlog.at(batch, BigInt(batch.records[0]?.offset ?? batch.end), 0);
    const context: BatchContext = {
      handle: (record, signal) => traceRecord(record, () => handleRecord(this.settings, record, signal)),
      about: (record) => aboutRecord(record, this.settings.decode),
      limits: this.limits,
      batches: () => this.batches,
      pauses: this.pauses,
      onPassed: (next, records, committed) => {
        this.passedRecords = true;
        this.moveTo(batch, next, committed);
        this.backlog.at(batch, next, records);
      },
      isLost: () => generation !== this.generation,
      log: this.log,
    };
    this.batches++;
    try {
      await handleBatch(batch, context);
    } finally {
      this.batches--;
    }
  }

  private moveTo(partition: TopicPartition, next: bigint, committed: boolean): void {
    const { topic, partition: number } = partition;
    const name = partitionName(partition);
    this.positions.set(name, next);
    if (committed) this.uncommitted.delete(name);
    else this.uncommitted.set(name, { topic, partition: number, next });
  }

  private async keepUp(): Promise<void> {
    this.backlog.refresh();
    const silentMs = Date.now() - this.aliveAt;
    // The client has been seen to wedge without a word while its process looked healthy.
    if (silentMs > this.limits.sessionTimeoutMs * 3) {
      return this.end(
        new Error(`no sign of life from the Kafka client for ${Math.round(silentMs / 1000)} s`),
      );
    }
    if (!this.assigned || this.stopping) return;
    await this.commitLeftovers();
    for (const { own, at } of await this.watermarks()) {
      const next = this.positions.get(partitionName(own));
      if (next !== undefined) this.backlog.holds(own, at.high - next);
    }
  }

  private async commitLeftovers(): Promise<void> {
    const leftovers = [...this.uncommitted.values()];
    if (leftovers.length === 0) return;
    await this.member.commit(leftovers);
    for (const left of leftovers) {
      const name = partitionName(left);
      if (this.uncommitted.get(name) === left) this.uncommitted.delete(name);
    }
  }

  /** Pauses every partition whose next offset is not in the topic; the fetches that found out are tried again. */
  private async pauseLost(): Promise<void> {
    if (this.checking) return;
    this.checking = true;
    try {
      await this.prepared;
      for (const { own, at } of await this.watermarks()) {
        const next = this.positions.get(partitionName(own));
        if (next !== undefined) this.pauseIfLost(own, next, at);
      }
    } catch (error) {
      this.log.warn({ err: error }, 'cannot tell which partition lost records; asking again');
    } finally {
      this.checking = false;
    }
  }

  private pauseIfLost(own: TopicPartition, next: bigint, at: Watermarks): void {
    const lost = lostSpan(next, at);
    if (lost === undefined || this.pauses.isPaused(own, 'lost-span')) return;
    const where = { ...own, next: `${next}`, low: `${at.low}`, high: `${at.high}` };
    this.log.error(where, `${partitionName(own)}: ${lost}`);
    const remedy =
      'after looking into it, go on with "inventory accept-gap" (docs/runbook.md, InventoryRecordsLost)';
    this.pauses.pause(own, 'lost-span', `${lost}; ${remedy}`, () => this.isFound(own));
  }

  /** True once the group's next offset is in the topic again: a person moved it, or accepted what is missing. */
  private async isFound(own: TopicPartition): Promise<boolean> {
    const { admin, generation } = this;
    const { groupId } = this.settings;
    const committed = (await admin.committed(groupId, own.topic)).get(own.partition);
    const at = (await admin.watermarks(own.topic)).find((p) => p.partition === own.partition);
    if (committed === undefined || !at) return false;
    let next = committed;
    if (lostSpan(committed, at) !== undefined) {
      const accepted = (await admin.acceptedGaps(groupId, own.topic)).get(own.partition);
      // The very span that the person saw: what went missing since then has to be accepted as well.
      if (accepted?.from !== committed || lostSpan(accepted.next, at) !== undefined) return false;
      if (generation !== this.generation) return false;
      await this.member.commit([{ ...own, next: (next = accepted.next) }]);
      this.log.warn({ ...own, from: `${committed}`, next: `${next}` }, 'a lost span was accepted');
    }
    this.moveTo(own, next, true);
    this.member.seek(own, next);
    return true;
  }

  private async watermarks(): Promise<{ own: TopicPartition; at: Watermarks }[]> {
    const assigned = this.assigned ?? [];
    const found: { own: TopicPartition; at: Watermarks }[] = [];
    for (const topic of new Set(assigned.map((p) => p.topic))) {
      for (const at of await this.admin.watermarks(topic)) {
        const own = assigned.find((p) => p.topic === topic && p.partition === at.partition);
        if (own) found.push({ own, at });
      }
    }
    return found;
  }
}
