/** One process: the bridge, the worker, or both, from start to drained. */
import type { Worker } from '@temporalio/worker';
import type { Database } from './activities/models';
import { connectDatabase } from './activities/models';
import { checkPrimary } from './activities/setup';
import { transactionTrouble } from './activities/transaction';
import { runBridge, type RunningBridge } from './bridge/bridge';
import { openKafka } from './bridge/kafka';
import { createGroupingStarter } from './bridge/group';
import { createLauncher, createStarter } from './bridge/start';
import { createDecoder } from './bridge/topics';
import { TIME_LIMITS_MS } from './commands';
import type { Config } from './config';
import { kafkaSettings, topicPlan, topicSettings } from './connections';
import type { Logger } from './log';
import { openHealth, type Health } from './readiness';
import { checkTemporal, connectTemporal, pollTemporal, routeTemporalLogs, type Temporal } from './temporal';
import type { Tracing } from './tracing';
import { watchParked } from './visibility';
import { createWorker } from './worker';

export interface Parts {
  bridge: boolean;
  worker: boolean;
}

/**
 * Runs until `stop` is aborted, then drains: first the bridge, so that nothing new begins, then the worker.
 * @throws what a part needed and did not find at start, or what made it give up
 */
export async function run(
  config: Config,
  parts: Parts,
  log: Logger,
  stop: AbortSignal,
  tracing?: Tracing,
): Promise<void> {
  const health = await openHealth(config, parts, log);
  try {
    await runParts(config, parts, health, log, stop, tracing);
  } finally {
    await health.close();
  }
}

async function runParts(
  config: Config,
  parts: Parts,
  health: Health,
  log: Logger,
  stop: AbortSignal,
  tracing?: Tracing,
): Promise<void> {
  // Not before the endpoint is open: the SDK's runtime keeps a process alive in which nothing ever connected.
  routeTemporalLogs(log, config);
  const temporal = await connectTemporal(config, tracing);
  health.watch('Temporal', ['bridge', 'worker'], () => pollTemporal(temporal, config.TEMPORAL_TASK_QUEUE));
  let stopCounting: (() => void) | undefined;
  let database: Database | undefined;
  let bridge: RunningBridge | undefined;
  let working: { worker: Worker; done: Promise<void> } | undefined;
  try {
    if (parts.worker) {
      // A frozen server must not keep connections that the next try of an activity needs.
      const opened = (database = await connectDatabase(
        config.MONGO_URL,
        TIME_LIMITS_MS.activityStartToClose,
      ));
      const worker = await createWorker(config, temporal, database, log, tracing);
      working = { worker, done: worker.run() };
      working.done.catch(() => undefined);
      health.watch('MongoDB', ['worker'], () => checkPrimary(opened));
      health.report('worker', () => workerReasons(worker));
      stopCounting = watchParked(temporal.client.workflow, config.TEMPORAL_TASK_QUEUE, log);
      log.info(
        {
          taskQueue: config.TEMPORAL_TASK_QUEUE,
          namespace: temporal.namespace,
          deployment: config.TEMPORAL_DEPLOYMENT_NAME,
          buildId: config.TEMPORAL_WORKER_BUILD_ID,
        },
        'worker takes work',
      );
    }
    if (parts.bridge) {
      const reading = (bridge = await startBridge(config, temporal, parts.worker, log));
      health.report('bridge', () => reading.state().reasons);
      log.info({ group: config.KAFKA_GROUP_ID, brokers: config.KAFKA_BROKERS }, 'bridge reads');
    }
    const stopped = new Promise<void>((resolve) => {
      if (stop.aborted) resolve();
      stop.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([stopped, bridge?.done, working?.done].filter((part) => part !== undefined));
  } finally {
    log.info('draining');
    health.draining();
    stopCounting?.();
    await bridge?.drain();
    // It may have stopped by itself already.
    if (working?.worker.getState() === 'RUNNING') working.worker.shutdown();
    await working?.done;
    await database?.connection.close();
    await temporal.connection.close();
    log.info('drained');
  }
}

/** Why a worker carries out nothing, beside servers that do not answer. */
function workerReasons(worker: Worker): string[] {
  const state = worker.getState();
  const trouble = transactionTrouble();
  return [
    ...(state === 'RUNNING' ? [] : [`the worker is ${state}`]),
    ...(trouble === undefined ? [] : [trouble]),
  ];
}

async function startBridge(
  config: Config,
  temporal: Temporal,
  eager: boolean,
  log: Logger,
): Promise<RunningBridge> {
  const searchAttributes = await checkTemporal(temporal).then(
    () => true,
    (error: Error) => {
      log.warn(`starting workflows without search attributes: ${error.message}`);
      return false;
    },
  );
  const settings = topicSettings(config);
  const launch = createLauncher({
    client: temporal.client.workflow,
    taskQueue: config.TEMPORAL_TASK_QUEUE,
    eager,
    concurrency: config.START_CONCURRENCY,
    searchAttributes,
    log,
  });
  return runBridge({
    kafka: openKafka(kafkaSettings(config), log),
    groupId: config.KAFKA_GROUP_ID,
    topics: [...topicPlan(config).topics],
    deadLetterTopic: config.KAFKA_TOPIC_DEAD_LETTERS,
    startFrom: config.KAFKA_START_FROM,
    decode: createDecoder(settings),
    starter: createGroupingStarter(createStarter(launch), launch, {
      singleStartsPerSecond: config.SINGLE_STARTS_PER_SECOND,
      groupMax: config.GROUP_MAX,
      groupLingerMs: config.GROUP_LINGER_MS,
      client: temporal.client.workflow,
      log,
    }),
    log,
  });
}
