/** What the bridge's tests share: topics and groups of their own on a real Kafka, and a starter that can be told to fail. */
import { randomUUID } from 'node:crypto';
import pino from 'pino';
import type { Admin, Kafka, Message, Producer } from 'kafkajs';
import { Partitioners } from 'kafkajs';
import type { Command } from '../commands';
import { runBridge } from '../bridge/bridge';
import type { BridgeSettings, RunningBridge } from '../bridge/bridge';
import type { ConsumerLimits } from '../bridge/consume';
import { commitAsMember } from '../bridge/gaps';
import { openKafka } from '../bridge/kafka';
import type { Decoded, KafkaRecord } from '../bridge/records';
import { createTopics } from '../bridge/setup';
import { StartUnavailable } from '../bridge/start';
import type { Starter } from '../bridge/start';

/** As in production, only faster: the session timeout is the shortest that Kafka allows. */
export const FAST: Partial<ConsumerLimits> = {
  sessionTimeoutMs: 6_000,
  rebalanceTimeoutMs: 10_000,
  heartbeatIntervalMs: 300,
  fetchWaitMs: 200,
  deadlineMs: 1_500,
  probeMs: 400,
  settleMs: 1_500,
  commitEveryMs: 100,
  pauseMs: 200,
  pauseMaxMs: 500,
  rebuildMs: 100,
  rebuildMaxMs: 300,
  rebuildTries: 3,
  drainMs: 8_000,
};

/** A Kafka for one test file. */
export class TestKafka {
  readonly kafka: Kafka;
  readonly admin: Admin;
  readonly lines: { level: number; msg: string; [field: string]: unknown }[] = [];
  private readonly producer: Producer;
  private readonly bridges: RunningBridge[] = [];
  readonly log = pino(
    { level: 'info' },
    { write: (line: string) => void this.lines.push(JSON.parse(line) as (typeof this.lines)[number]) },
  );

  constructor() {
    const brokers = process.env['KAFKA_BROKERS'];
    if (!brokers) throw new Error('KAFKA_BROKERS is not set: run the tests through `npm test`');
    this.kafka = openKafka({ brokers: brokers.split(','), clientId: 'test' }, this.log);
    this.admin = this.kafka.admin();
    this.producer = this.kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  }

  async open(): Promise<void> {
    await this.admin.connect();
    await this.producer.connect();
  }

  async close(): Promise<void> {
    await Promise.all(this.bridges.map((bridge) => bridge.drain()));
    await this.producer.disconnect();
    await this.admin.disconnect();
  }

  /** A new topic. */
  async topic(partitions = 1, config: Record<string, string> = {}): Promise<string> {
    const topic = `t-${randomUUID()}`;
    const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
    await createTopics(this.admin, [{ topic, numPartitions: partitions, configEntries }]);
    return topic;
  }

  /** Values `from` to `from + count - 1`, as text, into one partition. */
  async fill(topic: string, count: number, partition = 0, from = 0): Promise<void> {
    await this.send(
      topic,
      Array.from({ length: count }, (_, i) => ({ value: `ok ${partition}.${from + i}` })),
      partition,
    );
  }

  async send(topic: string, messages: Message[], partition = 0): Promise<void> {
    await this.producer.send({ topic, messages: messages.map((message) => ({ partition, ...message })) });
  }

  /** Committed offsets by partition; -1 where there is none. */
  async committed(groupId: string, topic: string): Promise<number[]> {
    const [answer] = await this.admin.fetchOffsets({ groupId, topics: [topic] });
    return (answer?.partitions ?? []).sort((a, b) => a.partition - b.partition).map((p) => Number(p.offset));
  }

  /** Deletes what lies below the offset, as retention does. */
  async deleteBelow(topic: string, partition: number, offset: number): Promise<void> {
    await this.admin.fetchTopicOffsets(topic);
    await this.admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] });
  }

  /** Commits offsets for a group without members; the admin client's own way takes five seconds. */
  async setOffsets(groupId: string, topic: string, offsets: number[]): Promise<void> {
    const committed = offsets.map((offset, partition) => ({ partition, offset: String(offset) }));
    await commitAsMember(this.kafka, groupId, topic, committed);
  }

  /** Runs a bridge, drained when the file ends at the latest. */
  async bridge(
    settings: Partial<BridgeSettings> & { topics: string[]; starter: Starter },
  ): Promise<RunningBridge> {
    const bridge = await runBridge({
      kafka: this.kafka,
      groupId: `g-${randomUUID()}`,
      deadLetterTopic: settings.deadLetterTopic ?? settings.topics[0] ?? '',
      startFrom: 'earliest',
      decode,
      log: this.log,
      ...settings,
      limits: { ...FAST, ...settings.limits },
    });
    this.bridges.push(bridge);
    return bridge;
  }

  async memberIds(groupId: string): Promise<string[]> {
    const { groups } = await this.admin.describeGroups([groupId]);
    return (groups[0]?.members ?? []).map((member) => member.memberId).sort();
  }
}

/** Reads `ok <id>` as a command, `skip` as ignored, `bad` as a dead letter; `throw` shows a bug of the decoder. */
export function decode(record: KafkaRecord): Decoded {
  const text = record.value?.toString() ?? '';
  if (text === 'skip') return { became: 'ignored', reason: 'no-lines' };
  if (text.startsWith('throw')) throw new TypeError('x is not a function');
  if (!text.startsWith('ok')) return { became: 'dead-letter', reason: 'not ok' };
  const { topic, partition, offset } = record;
  return { became: 'command', command: commandOf(text.slice(3), { topic, partition, offset }) };
}

export function commandOf(
  referenceId: string,
  source = { topic: 'orders', partition: 0, offset: '0' },
): Command {
  return {
    type: 'moveStock',
    input: {
      schema: 1,
      referenceType: 'SALE_ORDER',
      referenceId,
      legs: [{ inventoryStockId: 'STK-1', delta: '-2' }],
      occurredAt: '2024-01-01T00:00:00.000Z',
      source,
    },
  };
}

/** Stands for Temporal where only offsets matter. */
export class FakeStarter implements Starter {
  /** `partition.value` of every command that "exists", in order of arrival, repetitions included. */
  readonly started: string[] = [];
  /** Starts asked for, failed ones included. */
  asked = 0;
  away = false;
  constructor(private readonly before: (id: string) => Promise<void> | void = () => undefined) {}

  async start(command: Command): Promise<'started' | 'duplicate'> {
    this.asked++;
    if (this.away) throw new StartUnavailable('temporal-unavailable', 'UNAVAILABLE: no connection');
    const id = (command.input as { referenceId: string }).referenceId;
    await this.before(id);
    this.started.push(id);
    return 'started';
  }

  /** Distinct commands, sorted. */
  get distinct(): string[] {
    return [...new Set(this.started)].sort();
  }
}

/** The IDs that {@link TestKafka.fill} makes, sorted. */
export function ids(count: number, partition = 0, from = 0): string[] {
  return Array.from({ length: count }, (_, i) => `${partition}.${from + i}`).sort();
}

/** A promise and its key. */
export function latch(): { opened: Promise<void>; open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** Waits until the check stops throwing; its last error otherwise. */
export async function until(check: () => Promise<void> | void, withinMs = 45_000): Promise<void> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Value of a counter or gauge, summed over series with these labels. */
export async function metric(
  of: { get(): Promise<{ values: { value: number; labels: Partial<Record<string, string | number>> }[] }> },
  labels: Record<string, string> = {},
): Promise<number> {
  const { values } = await of.get();
  return values
    .filter((v) => Object.entries(labels).every(([name, value]) => v.labels[name] === value))
    .reduce((sum, v) => sum + v.value, 0);
}
