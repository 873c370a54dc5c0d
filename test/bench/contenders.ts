/** Who is measured, and how each is started. All read the same topics and keep the same ledger. */
import path from 'node:path';
import { startStack } from '../../stack/stack';
import { READY } from './consumers/consume';
import { launch, type Spawned } from './processes';
import { missing, RIVALS, ROOT, startPostgres, startRestate } from './rivalServers';

export const CONTENDERS = {
  each: 'plain kafkajs, one transaction per event',
  batch: 'plain kafkajs, one transaction per fetched batch',
  restate: 'Restate, Kafka subscription',
  dbos: 'DBOS, kafkajs receiver, PostgreSQL',
  single: 'this product, every event its own workflow',
  grouped: 'this product, as it comes (grouped above 30/s)',
  empty: 'an empty Temporal workflow per event',
} as const;
export type ContenderName = keyof typeof CONTENDERS;

/**
 * Share of `--events` that a contender gets, so that each measurement takes seconds rather than minutes. A rate
 * over fewer events is the same rate, a little less steady.
 */
export const SHARE: Record<ContenderName, number> = {
  each: 0.2,
  batch: 1,
  restate: 0.1,
  dbos: 0.1,
  single: 0.02,
  grouped: 1,
  empty: 0.025,
};

/** On one hot stock these are several times slower. */
export const HOT_SHARE: Partial<Record<ContenderName, number>> = { each: 0.06, restate: 0.03, dbos: 0.03 };

/** Where everything of one contender's turn is. */
export interface Place {
  /** Names its topics, group, task queue and database. */
  name: string;
  dir: string;
  brokers: string;
  mongoUrl: string;
  topics: Record<'PAYMENT_SUCCESS' | 'MATERIAL_TRANSFERRED', string>;
  emptyBundle: string;
  /** `--cpu-prof` for our own processes. */
  profile: boolean;
  temporalAddress: string | undefined;
}

export interface Started {
  /** The contender itself: what stands still while a backlog is published. */
  processes: Spawned[];
  /** What it needs besides Kafka and MongoDB. */
  servers: Spawned[];
  temporalAddress?: string;
  stop: () => Promise<void>;
}

type Processes = Pick<Started, 'processes' | 'stop'>;

/** Why a contender cannot be measured here; undefined when it can. */
export function whyNot(name: ContenderName): string | undefined {
  return name === 'restate' || name === 'dbos' ? missing(name) : undefined;
}

/** Starts a contender with fresh servers of its own. Resolves when it reads, or is about to. */
export async function start(name: ContenderName, place: Place, processes: number): Promise<Started> {
  const topics = Object.values(place.topics);
  const env = {
    ...process.env,
    KAFKA_BROKERS: place.brokers,
    KAFKA_GROUP_ID: place.name,
    MONGO_URL: place.mongoUrl,
    BENCH_TOPICS: topics.join(','),
  };
  switch (name) {
    case 'each':
    case 'batch':
      return { servers: [], ...(await several(processes, name, consumer(name), env, place)) };
    case 'restate': {
      const restate = await startRestate(path.join(place.dir, 'restate'), place.brokers);
      const { server, servicePort } = restate;
      const service = await beside(server, async () => {
        const more = { ...env, BENCH_RESTATE_SERVICE_PORT: String(servicePort) };
        const started = await several(1, name, path.join(RIVALS, 'restate', 'service.mjs'), more, place);
        await restate.connect(topics, place.name);
        return started;
      });
      // The server reads Kafka, so it stands still as well.
      return { ...service, processes: [...service.processes, server] };
    }
    case 'dbos': {
      const { server, url } = await startPostgres(path.join(place.dir, 'postgres'));
      const more = { ...env, BENCH_POSTGRES_URL: url };
      const app = path.join(RIVALS, 'dbos', 'app.mjs');
      return beside(server, () => several(processes, name, app, more, place));
    }
    case 'single':
    case 'grouped':
    case 'empty':
      return onTemporal(name, place, processes, env);
  }
}

async function onTemporal(
  name: 'single' | 'grouped' | 'empty',
  place: Place,
  processes: number,
  env: Record<string, string | undefined>,
): Promise<Started> {
  const server = place.temporalAddress === undefined ? await startTemporal(place) : undefined;
  const temporalAddress = place.temporalAddress ?? server!.address;
  const more = {
    ...env,
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_TASK_QUEUE: place.name,
    BENCH_EMPTY_BUNDLE: place.emptyBundle,
    KAFKA_START_FROM: 'earliest',
    // Several processes run side by side, and nobody looks at them.
    HTTP_PORT: 'off',
    KAFKA_TOPIC_PAYMENT_SUCCESS: place.topics.PAYMENT_SUCCESS,
    KAFKA_TOPIC_MATERIAL_TRANSFERRED: place.topics.MATERIAL_TRANSFERRED,
    // Nothing of ours is set but this: nothing is grouped.
    ...(name === 'single' ? { GROUP_MAX: '1' } : {}),
  };
  const program = name === 'empty' ? consumer(name) : path.join(ROOT, 'dist', 'cli.js');
  const begin = () => several(processes, name, program, more, place);
  const started = server ? await beside(server, begin) : { servers: [], ...(await begin()) };
  return { ...started, temporalAddress };
}

async function startTemporal(place: Place): Promise<Spawned & { address: string }> {
  const dataDir = path.join(place.dir, 'temporal');
  const stack = await startStack({ dataDir, ports: 'free', servers: ['temporal'], fresh: true });
  return {
    name: 'temporal',
    pid: stack.servers.temporal.pid!,
    address: stack.env.TEMPORAL_ADDRESS,
    stop: () => stack.stop(0),
  };
}

/** The contender with its server, which does not outlive a contender that could not be started. */
async function beside(server: Spawned, begin: () => Promise<Processes>): Promise<Started> {
  const { processes, stop } = await begin().catch(async (error: unknown) => {
    await server.stop();
    throw error;
  });
  return { processes, servers: [server], stop: () => stop().then(() => server.stop()) };
}

function consumer(name: string): string {
  return path.join(__dirname, 'consumers', `${name}.js`);
}

async function several(
  count: number,
  name: ContenderName,
  program: string,
  env: Record<string, string | undefined>,
  place: Place,
): Promise<Processes> {
  const ours = name === 'single' || name === 'grouped';
  const profiling = ours && place.profile ? ['--cpu-prof', `--cpu-prof-dir=${place.dir}`] : [];
  const processes: Spawned[] = [];
  for (let index = 1; index <= count; index++) {
    processes.push(
      await launch({
        name: count === 1 ? name : `${name} ${index}`,
        program: process.execPath,
        args: [...profiling, program, ...(ours ? ['run'] : [])],
        env,
        logFile: path.join(place.dir, `${name}-${index}.log`),
        ready: ours ? 'bridge reads' : READY,
        graceful: profiling.length > 0,
      }),
    );
  }
  return { processes, stop: async () => void (await Promise.all(processes.map((one) => one.stop()))) };
}
