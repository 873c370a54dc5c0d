/** Real servers, real workers and the bridge's own way of starting workflows, for the recorder of histories. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import type { Worker } from '@temporalio/worker';
import Big from 'big.js';
import { toDecimal128 } from '../../activities/decimals';
import { connectDatabase } from '../../activities/models';
import { setupDatabase } from '../../activities/setup';
import { createLauncher, createStarter } from '../../bridge/start';
import { groupWorkflowId, reopenedWorkflowId, SEARCH_ATTRIBUTES, workflowIdOf } from '../../commands';
import { readConfig } from '../../config';
import { PARKED_QUERY, RESOLVE_UPDATE } from '../../decisions';
import { createLogger } from '../../log';
import { startStack } from '../../stack/stack';
import { connectTemporal, routeTemporalLogs, setupTemporal } from '../../temporal';
import { createWorker } from '../../worker';
import type { Scene } from './paths';

/** Refuses what takes stock below zero for the one reference type that paths use for it. */
const USUAL = { TEMPORAL_TASK_QUEUE: 'usual', BELOW_ZERO_REFUSE: 'KITCHEN_TICKET_ITEM' };
/** Waits for nothing longer than the settings allow at least. */
const HASTY = { TEMPORAL_TASK_QUEUE: 'hasty', UNKNOWN_STOCK_WAIT: '1s', PARK_DEADLINE: '1s' };

/** Runs `body` with a scene on servers of its own, which end with it. */
export async function withScene(body: (scene: Scene) => Promise<void>): Promise<void> {
  const log = createLogger('warn');
  routeTemporalLogs(log);
  const dataDir = mkdtempSync(join(tmpdir(), 'inventory-histories-'));
  const stack = await startStack({ dataDir, ports: 'free', servers: ['mongo', 'temporal'] });
  const config = readConfig(stack.env);
  const temporal = await connectTemporal(config);
  await setupTemporal(temporal);
  const database = await connectDatabase(config.MONGO_URL);
  await setupDatabase(database);
  const workers: { worker: Worker; done: Promise<void> }[] = [];
  const launchers = new Map<string, ReturnType<typeof createLauncher>>();
  const client = temporal.client.workflow;
  for (const settings of [USUAL, HASTY]) {
    const taskQueue = settings.TEMPORAL_TASK_QUEUE;
    const worker = await createWorker(readConfig({ ...stack.env, ...settings }), temporal, database, log);
    workers.push({ worker, done: worker.run() });
    const launch = { client, taskQueue, eager: true, concurrency: 10, searchAttributes: true, log };
    launchers.set(taskQueue, createLauncher(launch));
  }
  const usual = launchers.get('usual')!;
  const hasty = launchers.get('hasty')!;
  const onHand = (quantity: number) => toDecimal128(new Big(quantity));
  try {
    await body({
      stock: async (_id, quantity) =>
        void (await database.stocks.insertOne({ _id, onHand: onHand(quantity) })),
      refill: async (_id, quantity) =>
        void (await database.stocks.updateOne({ _id }, { $set: { onHand: onHand(quantity) } })),
      start: async (command, inHaste) => {
        // A command that was ended from outside is started again by its next delivery.
        await createStarter(inHaste ? hasty : usual).start(command);
        return client.getHandle(workflowIdOf(command));
      },
      startGroup: async (commands) => {
        const stock = commands.every((command) => command.type === 'moveStock');
        const workflowId = groupWorkflowId(commands.map(workflowIdOf));
        await usual({
          type: stock ? 'moveStockBatch' : 'ensureCatalogueBatch',
          workflowId,
          input: { schema: 1, commands: stock ? commands.map(({ input }) => input) : commands },
          description: { staticSummary: 'group', staticDetails: 'group' },
        });
        return client.getHandle(workflowId);
      },
      reopen: (command, reopening) =>
        client.start('moveStock', {
          workflowId: reopenedWorkflowId(command, reopening.attempt),
          taskQueue: USUAL.TEMPORAL_TASK_QUEUE,
          args: [command, reopening],
        }),
      handleOf: (command) => client.getHandle(workflowIdOf(command)),
      untilParked: async (handle) => {
        while (!(await handle.query(PARKED_QUERY).catch(() => null))) await sleep(50);
      },
      untilWaiting: async (handle) => {
        while ((await outcomeOf(handle)) !== 'UNKNOWN_STOCK') await sleep(50);
      },
      resolve: (handle, decision, actor = 'ana') =>
        handle.executeUpdate(RESOLVE_UPDATE, { args: [{ decision, actor, reason: 'counted' }] }),
      withoutMongo: async (until) => {
        await stack.servers.mongo.stop(0);
        const handle = await until();
        while (!(await handle.describe()).raw.pendingActivities?.length) await sleep(100);
        await stack.servers.mongo.start();
        return handle;
      },
    });
  } finally {
    for (const { worker } of workers) worker.shutdown();
    await Promise.all(workers.map(({ done }) => done));
    await database.connection.close();
    await temporal.connection.close();
    await stack.stop(0);
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function outcomeOf(handle: WorkflowHandle): Promise<unknown> {
  return (await handle.describe()).searchAttributes[SEARCH_ATTRIBUTES.outcome]?.[0];
}
