import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Worker, type WorkerOptions } from '@temporalio/worker';
import { createActivities } from './activities';
import type { Database } from './activities/models';
import { observeActivity } from './activities/observe';
import { checkDatabase } from './activities/setup';
import { bundleFile, buildWorkflowBundle } from './bundle';
import { TIME_LIMITS_MS } from './commands';
import type { Config } from './config';
import type { Logger } from './log';
import { checkTemporal, type Temporal } from './temporal';
import type { Tracing } from './tracing';

/**
 * Makes a worker that is ready to run: `worker.run()` takes work until `worker.shutdown()`.
 * @throws DatabaseCheckError | TemporalCheckError | Error before any work is taken, when what it needs is missing
 */
export async function createWorker(
  config: Config,
  temporal: Temporal,
  database: Database,
  log: Logger,
  tracing?: Tracing,
): Promise<Worker> {
  checkTimeLimits();
  await checkDatabase(database);
  await checkTemporal(temporal);
  return Worker.create({
    connection: temporal.connection,
    namespace: temporal.namespace,
    taskQueue: config.TEMPORAL_TASK_QUEUE,
    workflowBundle: { code: await loadBundle(config, tracing !== undefined) },
    ...(tracing ? { sinks: tracing.sinks } : {}),
    ...deployment(config),
    dataConverter: temporal.dataConverter,
    activities: createActivities(
      database,
      {
        belowZeroRefuse: config.BELOW_ZERO_REFUSE,
        unknownStockWaitMs: config.UNKNOWN_STOCK_WAIT,
        parkDeadlineMs: config.PARK_DEADLINE,
      },
      log,
    ),
    interceptors: { activity: [observeActivity, ...(tracing?.activity ?? [])] },
    // After this an activity is cancelled; it is longer than any transaction, so that none is cut in two by a deploy.
    shutdownGraceTime: TIME_LIMITS_MS.shutdownGrace,
    shutdownForceTime: TIME_LIMITS_MS.shutdownGrace + TIME_LIMITS_MS.activityStartToClose,
    // One is held while its local activities run. Measured on two cores with one workflow per event: 25 a second with
    // 10, 34 with the SDK's 40, 40 with 100.
    maxConcurrentWorkflowTaskExecutions: 100,
    // Pollers, other slots and the cache stay as the SDK has them: 2, 10 or scaling pollers, 20 or 500 local
    // activities, 50 or 1,000 cached workflows made no difference; with groups, which are few, a second thread neither.
  });
}

/**
 * Worker versioning, when the process is told its version: Temporal then gives it work only once this version is the
 * current one of its deployment. Which workflows stay with their version is said in each workflow's file.
 */
function deployment(config: Config): Pick<WorkerOptions, 'workerDeploymentOptions'> {
  const { TEMPORAL_DEPLOYMENT_NAME: deploymentName, TEMPORAL_WORKER_BUILD_ID: buildId } = config;
  if (!deploymentName || !buildId) return {};
  return {
    workerDeploymentOptions: {
      version: { deploymentName, buildId },
      useWorkerVersioning: true,
      // For a workflow type whose file says nothing: it may be one that waits for weeks.
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}

/** The prebuilt bundle beside the compiled program; from sources it is built on the spot. */
async function loadBundle(config: Config, traced: boolean): Promise<string> {
  const compiled = path.extname(__filename) === '.js';
  const code = compiled
    ? await readFile(bundleFile(traced), 'utf8')
    : (await buildWorkflowBundle({ traced })).code;
  // Read by workflows/versioning.ts. On the bundle's first line, so that its source map stays right.
  return config.TEMPORAL_DEPLOYMENT_NAME ? `var INVENTORY_WORKER_IS_VERSIONED = true; ${code}` : code;
}

/** @throws RangeError when an outer limit would give up on something inner that may still succeed */
export function checkTimeLimits(
  limits: Record<keyof typeof TIME_LIMITS_MS, number> = TIME_LIMITS_MS,
): string {
  const { transaction, activityStartToClose, shutdownGrace } = limits;
  if (!(transaction < activityStartToClose && activityStartToClose < shutdownGrace)) {
    throw new RangeError(
      `time limits must nest: transaction ${transaction} ms < activity ${activityStartToClose} ms < shutdown grace ${shutdownGrace} ms`,
    );
  }
  return `time limits nest: transaction ${transaction} ms < activity ${activityStartToClose} ms < shutdown grace ${shutdownGrace} ms`;
}
