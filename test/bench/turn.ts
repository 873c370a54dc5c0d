/** One contender's turn: its servers, processes, topics and database, from warm to gone. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Partitioners, type Kafka, type Producer } from 'kafkajs';
import type { Database } from '../../activities/models';
import { createTopics } from '../../bridge/setup';
import { start, type ContenderName, type Place, type Started } from './contenders';
import { openHistories, type Histories } from './histories';
import { addStocks, entryCount, fillLedger, freshLedger, hasEntries, uniqueEvents } from './ledger';
import { workload, type BenchEvent, type Workload } from './workloads';

export const PARTITIONS = 4;
const PATIENCE_MS = 180_000;

export interface Bench {
  kafka: Kafka;
  brokers: string;
  mongoUrl: string;
  dir: string;
  emptyBundle: string;
  profile: boolean;
  /** A server that is there already; otherwise each turn has a dev server of its own. */
  temporalAddress: string | undefined;
  /** What every contender shares, to count what they cost there. */
  shared: { name: string; pid: number }[];
}

export interface Turn {
  contender: ContenderName;
  started: Started;
  database: Database;
  producer: Producer;
  place: Place;
  shared: Bench['shared'];
  histories: Histories | undefined;
  /** Prefix for the IDs of a workload that nobody had before. */
  prefix(): string;
  end(): Promise<void>;
}

/** Starts the contender and applies `warmUp` events, so that nothing is measured cold. */
export async function beginTurn(
  bench: Bench,
  contender: ContenderName,
  options: { processes: number; ledger: number; warmUp: number },
): Promise<Turn> {
  const name = `b${randomUUID().slice(0, 8)}-${contender}`;
  const topics = {
    PAYMENT_SUCCESS: `${name}.PAYMENT_SUCCESS`,
    MATERIAL_TRANSFERRED: `${name}.MATERIAL_TRANSFERRED`,
  };
  await createMissing(bench.kafka, [...Object.values(topics), ...OTHER_TOPICS]);
  const mongoUrl = bench.mongoUrl.replace(/\/[^/?]+\?/, `/${name}?`);
  const database = await freshLedger(mongoUrl);
  if (options.ledger > 0) await fillLedger(database, options.ledger);
  const { brokers, emptyBundle, profile, temporalAddress } = bench;
  const dir = path.join(bench.dir, name);
  const place = { name, dir, brokers, mongoUrl, topics, emptyBundle, profile, temporalAddress };
  const producer = bench.kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  const close = async () => {
    await producer.disconnect();
    await database.connection.dropDatabase();
    await database.connection.close();
  };
  const started = await start(contender, place, options.processes).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const histories = started.temporalAddress ? await openHistories(started.temporalAddress, name) : undefined;
  let prefixes = 0;
  const turn: Turn = {
    contender,
    started,
    database,
    producer,
    place,
    shared: bench.shared,
    histories,
    // A server that is there already knows the workflows of earlier turns and runs.
    prefix: () => `${temporalAddress === undefined ? '' : `${name}-`}w${++prefixes}`,
    end: async () => {
      await histories?.close();
      await started.stop();
      await close();
    },
  };
  try {
    const warmUp = workload('one', turn.prefix(), options.warmUp, PARTITIONS);
    const since = await prepare(turn, warmUp);
    await publish(turn, warmUp.events);
    await applied(turn, since, uniqueEvents(warmUp));
    await sleep(500);
    return turn;
  } catch (error) {
    await turn.end();
    throw error;
  }
}

/** Where the counts stand before events are published. */
export interface Since {
  entries: number;
  time: Date;
}

/** Adds the workload's stocks, and applies what has to be there before. */
export async function prepare(turn: Turn, { stocks, before }: Workload): Promise<Since> {
  if (turn.contender !== 'empty') await addStocks(turn.database, stocks);
  if (before.length > 0) {
    const since = { entries: await entryCount(turn.database), time: new Date() };
    await publish(turn, before);
    await applied(turn, since, before);
    await sleep(500);
  }
  return { entries: await entryCount(turn.database), time: new Date() };
}

/** Publishes as fast as Kafka takes it. */
export async function publish({ producer, place }: Turn, events: readonly BenchEvent[]): Promise<void> {
  for (let from = 0; from < events.length; from += 1_000) {
    const chunk = events.slice(from, from + 1_000);
    await producer.sendBatch({
      topicMessages: (['PAYMENT_SUCCESS', 'MATERIAL_TRANSFERRED'] as const).map((topic) => ({
        topic: place.topics[topic],
        messages: chunk.filter((event) => event.topic === topic).map(toMessage),
      })),
    });
  }
}

/** The document with its time, keyed by reference as a careful producer does. */
export function toMessage(event: BenchEvent) {
  const time = { [event.topic === 'PAYMENT_SUCCESS' ? 'paidAt' : 'transferredAt']: new Date().toISOString() };
  return {
    key: event.referenceId,
    value: JSON.stringify({ ...event.body, ...time }),
    ...(event.partition === undefined ? {} : { partition: event.partition }),
  };
}

/**
 * Waits until all these have had their effect.
 * @throws Error when they have not after three minutes
 */
export async function applied(turn: Turn, since: Since, events: readonly BenchEvent[]): Promise<void> {
  const legs = events.reduce((sum, event) => sum + event.legs.length, 0);
  const done = async () =>
    turn.contender === 'empty'
      ? (await turn.histories!.closedCount(since.time)) >= events.length
      : hasEntries(turn.database, since.entries + legs);
  // A Temporal list is a costlier thing to ask for than a count in MongoDB.
  const everyMs = turn.contender === 'empty' ? 200 : 20;
  for (const until = Date.now() + PATIENCE_MS; !(await done()); await sleep(everyMs)) {
    if (Date.now() > until) {
      const entries = (await entryCount(turn.database)) - since.entries;
      throw new Error(`not done after ${PATIENCE_MS / 1_000} s; ${entries} of ${legs} entries`);
    }
  }
}

/** Our own product insists on all of its topics. */
const OTHER_TOPICS = [
  'KITCHEN_TICKET_ITEM_STATUS_CHANGED',
  'PURCHASE_ORDER_RECEIVED',
  'cdc.Merchant',
  'cdc.ProductVariant',
  'inventory.dead-letters',
];

async function createMissing(kafka: Kafka, names: readonly string[]): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    const existing = new Set(await admin.listTopics());
    const topics = names
      .filter((topic) => !existing.has(topic))
      .map((topic) => ({ topic, numPartitions: OTHER_TOPICS.includes(topic) ? 1 : PARTITIONS }));
    if (topics.length > 0) await createTopics(admin, topics);
  } finally {
    await admin.disconnect();
  }
}
