/**
 * Publishes random business for as long as it is told to: documents, redeliveries on any partition, edited orders,
 * bursts, events that name a stock before the catalogue does. A producer that gets no answer sends again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kafka, Producer } from 'kafkajs';
import { Partitioners } from 'kafkajs';
import { groupBy } from './group';
import { Maker, SALE, type Made, type Message } from './events';
import type { Document, Model } from './model';
import type { Random } from './random';

const TICK_MS = 100;
const PER_TICK = 2;
const BURST_EVERY = 80;
const BURST = 150;
/** Of all messages, how many come again, within this many ticks. */
const REDELIVERED = 0.2;
const REDELIVERED_WITHIN = 80;
const EDIT_EVERY = 25;
/** Ticks after which an order may be edited, if it is in the ledger by then. */
const EDIT_AFTER = 20;
/** Kafka refuses records that are an hour ahead of it. */
const MOST_AHEAD_MS = 50 * 60_000;
/** Tries to publish, some seconds each while Kafka is away; it is never away so long. */
const MOST_TRIES = 200;

export interface LoadSettings {
  kafka: Kafka;
  random: Random;
  model: Model;
  partitions: (topic: string) => number;
  /** Whether the ledger holds the document. Rejects when the ledger cannot be read. */
  isApplied: (document: Document) => Promise<boolean>;
}

export class Load {
  /** Records that Kafka has acknowledged. */
  published = 0;
  redelivered = 0;
  /** How far the producer's clock is off. */
  clockSkewMs = 0;
  /** Everything is sent this many times at once, by as many producers. */
  copies = 1;
  readonly make: Maker;
  private readonly history: Message[] = [];
  private readonly due = new Map<number, Message[]>();
  private readonly editable: { made: Made; at: number }[] = [];
  private producers: Producer[] = [];
  private tick = 0;
  private state: 'running' | 'paused' | 'stopping' = 'running';
  private done: Promise<void> = Promise.resolve();
  private idle = false;

  constructor(private readonly settings: LoadSettings) {
    this.make = new Maker(settings.random, settings.model, () => new Date(Date.now() + this.clockSkewMs));
  }

  async start(): Promise<void> {
    this.producers = [0, 1].map(() =>
      this.settings.kafka.producer({
        createPartitioner: Partitioners.DefaultPartitioner,
        retry: { retries: 1, initialRetryTime: 200 },
      }),
    );
    await Promise.all(this.producers.map((producer) => producer.connect()));
    await this.send(this.make.catalogue());
    this.done = this.run();
    this.done.catch(() => undefined);
  }

  /** Resolves once nothing is being published. */
  async pause(): Promise<void> {
    this.state = 'paused';
    while (!this.idle) await sleep(20);
  }

  resume(): void {
    this.state = 'running';
  }

  /** Publishes what is due later, and ends. */
  async stop(): Promise<void> {
    this.state = 'stopping';
    await this.done;
    await this.send([...this.due.values()].flat());
    await Promise.all(this.producers.map((producer) => producer.disconnect()));
  }

  /** Publishes now; resolves once Kafka has it. */
  async send(messages: readonly Message[], partition?: number): Promise<void> {
    const { random } = this.settings;
    if (messages.length === 0) return;
    for (const message of messages) {
      this.history.push(message);
      if (!random.chance(REDELIVERED)) continue;
      this.later(random.between(1, REDELIVERED_WITHIN), message);
      this.redelivered++;
    }
    await this.publish(messages, partition);
  }

  /** One sale in each partition, published now. */
  async probe(): Promise<Document[]> {
    const documents: Document[] = [];
    for (let partition = 0; partition < this.settings.partitions(SALE); partition++) {
      const { document, messages } = this.make.sale(['HOT']);
      await this.publish(messages, partition);
      documents.push(document);
    }
    return documents;
  }

  /** As {@link send}, and never delivered again. */
  async publish(messages: readonly Message[], partition?: number): Promise<void> {
    const { random, partitions } = this.settings;
    const copies = this.producers.slice(0, this.copies).map((producer) => {
      const byTopic = groupBy(messages, ({ topic }) => topic);
      const topicMessages = [...byTopic].map(([topic, list]) => ({
        topic,
        messages: list.map(({ value }) => ({
          value,
          partition: partition ?? random.between(0, partitions(topic) - 1),
          ...(this.clockSkewMs === 0 ? {} : { timestamp: this.skewed() }),
        })),
      }));
      return async () => {
        for (let tries = 1; ; tries++) {
          try {
            return await producer.sendBatch({ acks: -1, timeout: 5_000, topicMessages });
          } catch (error) {
            if (tries === MOST_TRIES) throw error;
            await sleep(300);
          }
        }
      };
    });
    await Promise.all(copies.map((send) => send()));
    this.published += messages.length * this.copies;
  }

  /** Kafka's time of a record. */
  private skewed(): string {
    return String(Date.now() + Math.min(this.clockSkewMs, MOST_AHEAD_MS));
  }

  private async run(): Promise<void> {
    while (this.state !== 'stopping') {
      this.idle = this.state === 'paused';
      // A pause stops the clock as well, or what falls due meanwhile would come at the very end.
      if (!this.idle) {
        await this.oneTick();
        this.tick++;
      }
      await sleep(TICK_MS);
    }
  }

  private async oneTick(): Promise<void> {
    const { random } = this.settings;
    const { tick } = this;
    const messages = this.due.get(tick) ?? [];
    this.due.delete(tick);
    await this.publish(messages);
    const fresh: Message[] = [];
    const count = tick % BURST_EVERY === BURST_EVERY - 1 ? BURST : random.between(0, PER_TICK * 2);
    for (let i = 0; i < count; i++) {
      const made = this.make.any();
      if (made.document.key.startsWith('SALE_ORDER') && made.document.legs.size > 0) {
        this.editable.push({ made, at: tick });
      }
      fresh.push(...made.messages);
    }
    if (random.chance(0.02)) fresh.push(this.make.broken());
    if (random.chance(0.05)) {
      const early = this.make.early();
      fresh.push(...early.messages);
      this.later(random.between(15, 50), early.catalogue);
    }
    if (random.chance(0.2) && this.history.length > 0) fresh.push(random.pick(this.history));
    await this.send(fresh);
    if (tick % EDIT_EVERY === 0) await this.edit();
  }

  /** Only what is in the ledger already is edited: of two versions that race, nobody could say which is the first. */
  private async edit(): Promise<void> {
    const { random, isApplied } = this.settings;
    const old = this.editable.findIndex(({ at }) => at > this.tick - EDIT_AFTER);
    const candidates = this.editable.splice(0, old < 0 ? this.editable.length : old);
    if (candidates.length === 0) return;
    const { made } = random.pick(candidates);
    if (await isApplied(made.document).catch(() => false)) await this.send([this.make.edited(made)]);
  }

  private later(ticks: number, message: Message): void {
    const at = this.tick + ticks;
    this.due.set(at, [...(this.due.get(at) ?? []), message]);
  }
}
