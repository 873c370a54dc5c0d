/** The whole product as processes of their own, on the real servers of the test run, with names nobody else uses. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import { Partitioners, type Kafka } from 'kafkajs';
import { openKafka } from '../bridge/kafka';
import { createTopics } from '../bridge/setup';
import { readConfig, type Config } from '../config';
import { kafkaSettings, topicPlan, topicSettings } from '../connections';
import type { TopicName } from '../bridge/topics';
import { createLogger } from '../log';
import { decodeAll, settled, type Published } from '../stack/settled';
import { connectTemporal, type Temporal } from '../temporal';
import { databaseUrl, freshDatabase, type TestDatabase } from './database';
import { ended, type Ended } from './output';

const CLI = path.join(__dirname, '..', 'dist', 'cli.js');

export interface Process {
  pid: number;
  /** Ends it and resolves with its exit code or signal. */
  kill(signal: NodeJS.Signals): Promise<number | NodeJS.Signals>;
  output(): string;
}

export interface System {
  /** Goes into every ID: all tests share one Temporal namespace, where a known ID is a duplicate. */
  name: string;
  config: Config;
  env: Record<string, string>;
  database: TestDatabase;
  temporal: Temporal;
  kafka: Kafka;
  /** Starts `inventory <verb>`; resolves once it works. `program` is another build of `dist/cli.js`. */
  start(verb: 'run' | 'bridge' | 'worker', env?: Record<string, string>, program?: string): Promise<Process>;
  /** Runs `inventory <args>` to its end. */
  cli(...args: string[]): Promise<Ended>;
  publish(
    topic: TopicName,
    events: object[],
    partition?: number,
    headers?: Record<string, string>,
  ): Promise<void>;
  /** Waits until a group has passed every record and no workflow runs; the workflows of what was published. */
  settled(groupId?: string): Promise<WorkflowExecutionDescription[]>;
  close(): Promise<void>;
}

/** @param partitions of each topic */
export async function createSystem(partitions = 1, more: Record<string, string> = {}): Promise<System> {
  const name = `t${randomUUID().slice(0, 8)}`;
  const topics = Object.keys(topicSettings(readConfig({})).topics);
  const env: Record<string, string> = {
    ...(Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== undefined)) as Record<
      string,
      string
    >),
    ...Object.fromEntries(topics.map((topic) => [`KAFKA_TOPIC_${topic}`, `${name}.${topic}`])),
    KAFKA_TOPIC_DEAD_LETTERS: `${name}.dead-letters`,
    KAFKA_GROUP_ID: name,
    KAFKA_START_FROM: 'earliest',
    TEMPORAL_TASK_QUEUE: name,
    MONGO_URL: databaseUrl(),
    // Several processes of a test run side by side.
    HTTP_PORT: '0',
    ...more,
  };
  const config = readConfig(env);
  const kafka = openKafka(kafkaSettings(config), createLogger('silent'));
  const plan = [...topicPlan(config).topics, config.KAFKA_TOPIC_DEAD_LETTERS];
  const admin = kafka.admin();
  await admin.connect();
  await createTopics(
    admin,
    plan.map((topic) => ({ topic, numPartitions: partitions })),
  ).finally(() => admin.disconnect());
  const database = await freshDatabase(config.MONGO_URL);
  const temporal = await connectTemporal(config);
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  const published: Published[] = [];
  const children = new Set<ChildProcess>();

  const spawnCli = (args: string[], extra: Record<string, string> = {}, program = CLI) => {
    const child = spawn(process.execPath, [program, ...args], {
      env: { ...env, ...extra },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.add(child);
    child.once('exit', () => children.delete(child));
    return child;
  };

  const close = async () => {
    for (const child of children) child.kill('SIGKILL');
    await producer.disconnect();
    await temporal.connection.close();
    await database.drop();
  };
  // A test whose own system did not come up closes the one of the test before again.
  let closed: Promise<void> | undefined;

  return {
    name,
    config,
    env,
    database,
    temporal,
    kafka,
    start: async (verb, extra, program) => {
      const child = spawnCli([verb], extra, program);
      let output = '';
      child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
      const exited = new Promise<number | NodeJS.Signals>((resolve) =>
        child.once('exit', (code, signal) => resolve(signal ?? code ?? 0)),
      );
      const ready = verb === 'worker' ? 'worker takes work' : 'bridge reads';
      for (let tries = 0; !output.includes(ready); tries++) {
        if (child.exitCode !== null || tries > 2_400)
          throw new Error(`inventory ${verb} did not come up:\n${output}`);
        await sleep(50);
      }
      return {
        pid: child.pid!,
        kill: (signal) => (child.kill(signal), exited),
        output: () => output,
      };
    },
    cli: (...args) => ended(spawnCli(args)),
    publish: async (topic, events, partition, headers) => {
      published.push(...events.map((event) => ({ topic, value: JSON.stringify(event) })));
      await producer.send({
        topic: topicSettings(config).topics[topic],
        messages: events.map((event) => ({
          ...(headers ? { headers } : {}),
          value: JSON.stringify(event),
          ...(partition === undefined ? {} : { partition }),
        })),
      });
    },
    settled: (groupId = config.KAFKA_GROUP_ID) =>
      settled(config, kafka, temporal, decodeAll(config, published).commands, { groupId }),
    close: () => (closed ??= close()),
  };
}
