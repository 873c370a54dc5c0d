/** Workflow logic alone: time skips, activities are fakes, the server is the real time-skipping one. */
import { randomUUID } from 'node:crypto';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import type { Activities } from '../activities';
import { buildWorkflowBundle } from '../bundle';
import { createLogger } from '../log';
import { routeTemporalLogs, SEARCH_ATTRIBUTE_TYPES } from '../temporal';

export interface TimeSkipping {
  env: TestWorkflowEnvironment;
  /** Runs `body` beside a worker whose activities are `fakes`; an activity without a fake must not be called. */
  withFakes: <T>(fakes: Partial<Activities>, body: (taskQueue: string) => Promise<T>) => Promise<T>;
  /** Starts a worker of the caller's own; the caller ends it. */
  worker(
    taskQueue: string,
    fakes: Partial<Activities>,
    more?: { maxCachedWorkflows?: number },
  ): Promise<Worker>;
}

const NAMES: (keyof Activities)[] = [
  'checkTracking',
  'adjustStock',
  'adjustStockBatch',
  'park',
  'decide',
  'ensureDefaultLocation',
  'ensureInventoryItem',
  'ensureCatalogueBatch',
];

/** One server for a test file; `env.teardown()` ends it. */
export async function startTimeSkipping(): Promise<TimeSkipping> {
  routeTemporalLogs(createLogger('error'));
  const path = process.env['TEMPORAL_TEST_SERVER'];
  if (!path) throw new Error('TEMPORAL_TEST_SERVER is not set: run the tests with `npm test`');
  const env = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path } },
  });
  await env.connection.operatorService.addSearchAttributes({
    namespace: env.namespace ?? 'default',
    searchAttributes: SEARCH_ATTRIBUTE_TYPES,
  });
  const { code } = await buildWorkflowBundle();
  const worker: TimeSkipping['worker'] = (taskQueue, fakes, more = {}) =>
    Worker.create({
      connection: env.nativeConnection,
      taskQueue,
      workflowBundle: { code },
      activities: {
        ...Object.fromEntries(
          NAMES.map((name) => [name, () => Promise.reject(new Error(`${name} must not be called`))]),
        ),
        ...fakes,
      },
      ...more,
    });
  return {
    env,
    worker,
    withFakes: async (fakes, body) => {
      const taskQueue = randomUUID();
      return (await worker(taskQueue, fakes)).runUntil(body(taskQueue));
    },
  };
}
