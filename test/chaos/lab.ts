/** Servers, proxies, product and load, put together; and the questions that faults and the verdict ask of them. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, Client } from '@temporalio/client';
import { Kafka, logLevel, type Admin } from 'kafkajs';
import { mongo } from 'mongoose';
import { createTopics } from '../../bridge/setup';
import { startStack, type Stack } from '../../stack/stack';
import { CATALOGUE_TOPICS, EVENT_TOPICS, OPENED } from './events';
import { Load } from './load';
import { Model, quantityText, type Document } from './model';
import { Product } from './product';
import { Proxy } from './proxy';
import { seeded, type Random } from './random';

export const GROUP = 'inventory';
export const TASK_QUEUE = 'inventory';
/** For Temporal's lists and counts. */
export const RUNNING = `TaskQueue = '${TASK_QUEUE}' AND ExecutionStatus = 'Running'`;
export const DEAD_LETTERS = 'inventory.dead-letters';
export const BRIDGES = ['bridge-1', 'bridge-2'];
export const WORKERS = ['worker-1', 'worker-2'];
const PARTITIONS: Record<string, number> = { PAYMENT_SUCCESS: 4 };

export interface LabSettings {
  dir: string;
  seed: number;
  /** Modules that every process of the product loads first. */
  preloads?: string[];
  say: (line: string) => void;
}

/** An entry of the ledger as it stands in MongoDB, as far as the verdict reads it. */
export interface Row {
  _id: string;
  referenceType: string;
  referenceId: string;
  inventoryStockId: string;
  attempt: number;
  outcome: string;
  case?: string;
  delta: { toString(): string };
  occurredAt: Date;
  recordedAt: Date;
  workflowId: string;
}

export class Lab {
  readonly model = new Model();

  private constructor(
    readonly settings: LabSettings,
    readonly random: Random,
    readonly stack: Stack,
    readonly proxies: Record<'kafka' | 'mongo' | 'temporal', Proxy>,
    readonly product: Product,
    readonly admin: Admin,
    /** Straight to the server, past the proxy. */
    readonly mongoClient: mongo.MongoClient,
    readonly temporal: Client,
    readonly kafka: Kafka,
  ) {
    this.load = new Load({
      kafka,
      random: seeded(settings.seed ^ 0x5eed),
      model: this.model,
      partitions: (topic) => this.partitions(topic),
      isApplied: (document) => this.isApplied(document),
    });
  }

  readonly load: Load;

  /** Everything started, nothing published. */
  static async open(settings: LabSettings): Promise<Lab> {
    const { dir, say } = settings;
    const proxies = { kafka: await Proxy.open(), mongo: await Proxy.open(), temporal: await Proxy.open() };
    const inner = (proxies.kafka.target = await anyPort());
    const stack = await startStack({
      dataDir: dir,
      ports: 'free',
      onProgress: say,
      moreArgs: (name, ports) => {
        if (name === 'mongo') return ['--setParameter', 'enableTestCommands=1'];
        if (name !== 'kafka') return [];
        const at = (port: number) => `127.0.0.1:${port}`;
        const plain = `PLAINTEXT://${at(ports.kafka)}`;
        return override({
          listeners: `${plain},PROXIED://${at(inner)},CONTROLLER://${at(ports.kafkaController)}`,
          'advertised.listeners': `${plain},PROXIED://${at(proxies.kafka.port)}`,
          'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT',
        });
      },
    });
    proxies.mongo.target = portOf(stack.env.MONGO_URL);
    proxies.temporal.target = portOf(stack.env.TEMPORAL_ADDRESS);
    const kafka = new Kafka({
      brokers: [stack.env.KAFKA_BROKERS],
      clientId: 'chaos',
      logLevel: logLevel.NOTHING,
      requestTimeout: 8_000,
    });
    const admin = kafka.admin();
    await admin.connect();
    await createTopics(
      admin,
      [...EVENT_TOPICS, ...CATALOGUE_TOPICS].map((topic) => ({
        topic,
        numPartitions: PARTITIONS[topic] ?? 2,
      })),
    );
    const product = new Product(
      join(dir, 'product'),
      {
        ...(process.env as Record<string, string>),
        KAFKA_BROKERS: `127.0.0.1:${proxies.kafka.port}`,
        KAFKA_GROUP_ID: GROUP,
        KAFKA_START_FROM: 'earliest',
        // One server, and past the proxy nobody may find it.
        MONGO_URL: `mongodb://127.0.0.1:${proxies.mongo.port}/inventory?directConnection=true`,
        TEMPORAL_ADDRESS: `127.0.0.1:${proxies.temporal.port}`,
        TEMPORAL_TASK_QUEUE: TASK_QUEUE,
        // Both ways are wanted: a workflow each most of the time, groups in bursts.
        SINGLE_STARTS_PER_SECOND: '25',
        // Four processes on one machine.
        HTTP_PORT: '0',
        LOG_LEVEL: 'info',
      },
      settings.preloads,
    );
    const mongoClient = await new mongo.MongoClient(
      `${stack.env.MONGO_URL.split('?')[0]}?directConnection=true`,
      {
        serverSelectionTimeoutMS: 5_000,
        socketTimeoutMS: 10_000,
      },
    ).connect();
    const connection = Connection.lazy({ address: stack.env.TEMPORAL_ADDRESS });
    const lab = new Lab(
      settings,
      seeded(settings.seed),
      stack,
      proxies,
      product,
      admin,
      mongoClient,
      new Client({ connection }),
      kafka,
    );
    const setup = await product.cli('setup');
    if (setup.code !== 0) throw new Error(`inventory setup failed: ${setup.err}`);
    await lab.openStocks();
    return lab;
  }

  async startAll(): Promise<void> {
    await Promise.all([...WORKERS, ...BRIDGES].map((name) => this.product.start(name)));
  }

  async close(): Promise<void> {
    await this.product.stop('SIGKILL');
    await this.admin.disconnect().catch(() => undefined);
    await this.mongoClient.close().catch(() => undefined);
    await this.temporal.connection.close();
    await Promise.all(Object.values(this.proxies).map((proxy) => proxy.close()));
    await this.stack.stop();
  }

  get tracking(): mongo.Collection<Row> {
    return this.mongoClient.db('inventory').collection<Row>('inventory_tracking');
  }

  get stocks(): mongo.Collection<{ _id: string; onHand: { toString(): string } }> {
    return this.mongoClient.db('inventory').collection('inventory_stock');
  }

  partitions(topic: string): number {
    return PARTITIONS[topic] ?? 2;
  }

  async isApplied({ key }: Document): Promise<boolean> {
    const [referenceType, referenceId] = split(key);
    return (await this.tracking.findOne({ referenceId, referenceType, outcome: 'APPLIED' })) !== null;
  }

  /** Per partition: what the group has committed (-1: nothing yet), and what the topic holds. */
  async offsets(
    topic: string,
  ): Promise<{ partition: number; committed: bigint; low: bigint; high: bigint }[]> {
    const [answer] = await this.admin.fetchOffsets({ groupId: GROUP, topics: [topic] });
    const marks = await this.admin.fetchTopicOffsets(topic);
    return marks.map(({ partition, low, high }) => {
      const offset = answer?.partitions.find((one) => one.partition === partition)?.offset ?? '-1';
      return { partition, committed: BigInt(offset), low: BigInt(low), high: BigInt(high) };
    });
  }

  /** Records that the group has not passed. */
  async behind(): Promise<number> {
    let behind = 0n;
    for (const topic of [...EVENT_TOPICS, ...CATALOGUE_TOPICS]) {
      for (const { committed, low, high } of await this.offsets(topic)) {
        behind += high - (committed < 0n ? low : committed);
      }
    }
    return Number(behind);
  }

  /** Workflows that run now. @param more narrows it down, as in ` AND …` */
  async running(more = ''): Promise<number> {
    return (await this.temporal.workflow.count(`${RUNNING}${more}`)).count;
  }

  /** Waits until `ask` answers with something; what it throws counts as nothing. */
  async until<T>(
    what: string,
    ask: () => Promise<T | undefined | false> | T | undefined | false,
    withinMs: number,
  ): Promise<T> {
    let last = '';
    for (const end = Date.now() + withinMs; ; await sleep(100)) {
      try {
        const answer = await ask();
        if (answer !== undefined && answer !== false) return answer;
      } catch (error) {
        last = `: ${(error as Error).message}`;
      }
      if (Date.now() > end) throw new Error(`not within ${Math.round(withinMs / 1000)} s: ${what}${last}`);
    }
  }

  /** Values of all dead letters. */
  async deadLetters(): Promise<string[]> {
    const marks = await this.admin.fetchTopicOffsets(DEAD_LETTERS);
    const wanted = marks.reduce((sum, { low, high }) => sum + Number(high) - Number(low), 0);
    const values: string[] = [];
    const consumer = this.kafka.consumer({ groupId: `chaos-${randomUUID()}`, maxWaitTimeInMs: 100 });
    await consumer.connect();
    await consumer.subscribe({ topic: DEAD_LETTERS, fromBeginning: true });
    await consumer.run({
      eachMessage: ({ message }) => {
        values.push(message.value?.toString() ?? '');
        return Promise.resolve();
      },
    });
    await this.until('all dead letters read', () => values.length >= wanted, 60_000);
    await consumer.disconnect();
    return values;
  }

  private async openStocks(): Promise<void> {
    for (const stock of OPENED) {
      const opening = BigInt(this.random.between(0, 500_000));
      this.model.openings.set(stock, opening);
      const onHand = mongo.BSON.Decimal128.fromString(quantityText(opening));
      await this.stocks.insertOne({ _id: stock, onHand });
    }
  }
}

/** `SALE_ORDER SO-1` as its two parts. */
export function split(key: string): [type: string, id: string] {
  const at = key.indexOf(' ');
  return [key.slice(0, at), key.slice(at + 1)];
}

function portOf(address: string): number {
  return Number(/:(\d+)(?:\/|$)/.exec(address.replace(/^mongodb:\/\//, ''))![1]);
}

function override(properties: Record<string, string>): string[] {
  return Object.entries(properties).flatMap(([name, value]) => ['--override', `${name}=${value}`]);
}

/** A port that is free now. */
export async function anyPort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
