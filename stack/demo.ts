/**
 * `npm run demo`: servers, one `inventory run`, an evening of two restaurants with every fault that Kafka and
 * people bring, and then the sums. Everything shown is read back from Kafka, Temporal and MongoDB.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Partitioners, type Kafka } from 'kafkajs';
import { openKafka } from '../bridge/kafka';
import { readConfig } from '../config';
import { kafkaSettings, topicSettings } from '../connections';
import { createLogger } from '../log';
import { connectTemporal } from '../temporal';
import { printReport } from './report';
import { decodeAll, settled } from './settled';
import { shift, type ShiftEvent } from './shift';
import { isFree } from './ports';
import { startStack, StackError, type Stack } from './stack';

const EVENT_EVERY_MS = 40;
/** The default; where another program has it, the demo does without. */
const METRICS_PORT = 9464;
const CLI = join(__dirname, '..', 'cli.js');
const DATA_DIR = join(process.cwd(), '.stack', 'demo');
const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  const exit = process.argv.includes('--exit');
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

  const { stack, run, env } = await servers();
  const program = new Program(env);
  try {
    await program.once('setup');
    const config = readConfig(env);
    const kafka = openKafka(kafkaSettings(config), createLogger('silent'));
    program.keepRunning();

    const { topics } = topicSettings(config);
    const temporal = await connectTemporal(config);
    const passed = (events: readonly ShiftEvent[]) =>
      settled(config, kafka, temporal, decodeAll(config, events).commands, {
        stop: stopping.signal,
        onProgress: (behind) => say(`  ${behind} records to pass`),
      });

    const { catalogue, evening } = shift(run);
    const events = [...catalogue, ...evening];
    say(`\npublishing the catalogue, ${catalogue.length} changes captured from two databases`);
    await publish(kafka, catalogue, topics);
    await passed(catalogue);
    say(`publishing ${evening.length} events of one evening, redeliveries among them`);
    await publish(kafka, evening, topics);
    const workflows = await passed(events);
    const addsUp = await printReport(config, kafka, workflows, events);
    await temporal.connection.close();
    process.exitCode = addsUp ? 0 : 1;

    const ui = `${config.TEMPORAL_UI_URL}/namespaces/${config.temporal.namespace}/workflows`;
    say(`\nTemporal Web UI: ${ui}`);
    if (config.HTTP_PORT !== 'off')
      say(`metrics and readiness: http://${config.HTTP_HOST}:${config.HTTP_PORT}/metrics and /readyz`);
    if (!exit && !stopping.signal.aborted) {
      say(
        'Everything keeps running so that you can look, publish more, or kill -9 anything. Ctrl-C ends it.',
      );
      for (const [name, value] of Object.entries(stack?.env ?? {})) say(`  export ${name}='${value}'`);
      await new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve()));
    }
  } finally {
    await program.stop();
    await stack?.stop();
  }
}

/** Servers of our own, or those that the three variables name; there, everything of this run has names of its own. */
async function servers(): Promise<{ stack?: Stack; run: string; env: NodeJS.ProcessEnv }> {
  // However slow the machine: here each event is to be seen as a workflow of its own, never in a group.
  const { HTTP_PORT = (await isFree(METRICS_PORT)) ? String(METRICS_PORT) : 'off' } = process.env;
  const defaults = {
    ...process.env,
    HTTP_PORT,
    KAFKA_START_FROM: 'earliest',
    SINGLE_STARTS_PER_SECOND: '1000',
  };
  const { KAFKA_BROKERS, MONGO_URL, TEMPORAL_ADDRESS } = process.env;
  if (KAFKA_BROKERS && MONGO_URL && TEMPORAL_ADDRESS) {
    const run = Date.now().toString(36).slice(-5);
    say(`using the servers that KAFKA_BROKERS, MONGO_URL and TEMPORAL_ADDRESS name, as demo ${run}`);
    const topics = Object.keys(topicSettings(readConfig({})).topics);
    return {
      run: `-${run}`,
      env: {
        ...defaults,
        ...Object.fromEntries(topics.map((topic) => [`KAFKA_TOPIC_${topic}`, `demo-${run}.${topic}`])),
        KAFKA_TOPIC_DEAD_LETTERS: `demo-${run}.dead-letters`,
        KAFKA_GROUP_ID: `demo-${run}`,
        TEMPORAL_TASK_QUEUE: `demo-${run}`,
        MONGO_URL: MONGO_URL.replace(/\/[^/?]+(\?|$)/, `/demo_${run}$1`),
      },
    };
  }
  const options = { dataDir: DATA_DIR, fresh: true, onProgress: (line: string) => say(`  ${line}`) };
  say('starting Kafka, MongoDB and Temporal; the first time they are fetched, which takes a minute or two');
  const stack = await startStack({ ...options, ports: 'fixed' }).catch((error: unknown) => {
    if (!(error instanceof StackError)) throw error;
    say(`  ${error.message}\n  trying other ports`);
    return startStack({ ...options, ports: 'free' });
  });
  return { stack, run: '', env: { ...defaults, ...stack.env } };
}

/** The product itself, as processes of its own, so that it can be killed. */
class Program {
  private child?: ChildProcess;
  private stopped = false;

  constructor(private readonly env: NodeJS.ProcessEnv) {}

  async once(verb: string): Promise<void> {
    const child = spawn(process.execPath, [CLI, verb], {
      env: this.env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const code = await new Promise((resolve) => child.once('exit', resolve));
    if (code !== 0) throw new Error(`inventory ${verb} ended with ${String(code)}`);
  }

  /** `inventory run`, started again whenever it dies, as an orchestrator would. */
  keepRunning(): void {
    const env = { ...this.env, LOG_LEVEL: this.env['LOG_LEVEL'] ?? 'error' };
    const child = spawn(process.execPath, [CLI, 'run'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    this.child = child;
    say(`inventory run is process ${child.pid}: kill -9 it whenever you like`);
    child.once('exit', (code, signal) => {
      if (this.stopped) return;
      say(`inventory run ended (${signal ?? String(code)}), starting it again`);
      setTimeout(() => !this.stopped && this.keepRunning(), 1_000);
    });
  }

  async stop(): Promise<void> {
    this.stopped = true;
    const child = this.child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
  }
}

async function publish(kafka: Kafka, events: ShiftEvent[], topics: Record<string, string>): Promise<void> {
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  for (const { topic, key, value } of events) {
    await producer.send({ topic: topics[topic]!, messages: [{ key, value }] });
    await sleep(EVENT_EVERY_MS);
  }
  await producer.disconnect();
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
});
