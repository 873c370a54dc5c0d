/** Worker versioning on the real server: the old version's parked work, and all that comes, goes on under the new one. */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { WorkflowHandle } from '@temporalio/client';
import { readConfig } from '../config';
import { findBinary } from '../stack/binaries';
import { createSystem, type System } from './system';

jest.setTimeout(240_000);
const ROOT = join(__dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'inventory-upgrade-'));
let system: System;
const DONE = "ExecutionStatus = 'Completed'";
afterAll(async () => {
  await system.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The same program with a changed `moveStock`: it does one thing more, behind a patch as the rule says. */
function nextVersion(): string {
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), {
    recursive: true,
    filter: (from) => !/dist\/(test|stack)/.test(from),
  });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const bundle = join(folder, 'dist', 'workflow-bundle.js');
  const line = 'const result = smooth ? first : await (0, parked_1.settle)(command, first);';
  const parts = readFileSync(bundle, 'utf8').split(line);
  expect(parts).toHaveLength(2);
  const more = "if ((0, workflow_1.patched)('look-again')) await (0, activities_1.checkTracking)(command);";
  writeFileSync(bundle, parts.join(`${line} ${more}`));
  return join(folder, 'dist', 'cli.js');
}

/** The build ID that completed a workflow's last task, and whether it passed the new version's patch. */
async function seen(handle: WorkflowHandle) {
  const events = (await handle.fetchHistory()).events ?? [];
  const tasks = events.flatMap((event) => event.workflowTaskCompletedEventAttributes ?? []);
  return {
    buildId: tasks.at(-1)?.deploymentVersion?.buildId,
    patched: events.some((event) => event.markerRecordedEventAttributes?.markerName === 'core_patch'),
    eager: Boolean(events[0]?.workflowExecutionStartedEventAttributes?.eagerExecutionAccepted),
  };
}

const paid = (id: string, quantity = '1', stockId = 'A') => ({
  saleOrderId: `${id}-${system.name}`,
  paidAt: '2026-11-01T12:00:00Z',
  lines: [{ stockId, quantity }],
});
const version = (buildId: string) => ({
  TEMPORAL_DEPLOYMENT_NAME: system.name,
  TEMPORAL_WORKER_BUILD_ID: buildId,
});

/** As docs/deploy.md says; again until the server knows the version, which its first poll makes known. */
async function promote(buildId: string): Promise<void> {
  const { path } = await findBinary('temporal');
  const { address } = system.config.temporal.connectionOptions;
  const command = ['worker', 'deployment', 'set-current-version', '--yes', '--address', String(address)];
  for (let tries = 0; ; tries++) {
    try {
      await promisify(execFile)(path, [...command, '--deployment-name', system.name, '--build-id', buildId]);
      return;
    } catch (error) {
      if (tries === 100) throw error;
      await sleep(100);
    }
  }
}

/** The one workflow of an order, once it is in that state; lists are written a moment later than workflows change. */
async function workflowOf(id: string, state: string, tries = Infinity): Promise<WorkflowHandle> {
  const { workflow } = system.temporal.client;
  const query = `InventoryReference = 'SALE_ORDER/${id}-${system.name}' AND ${state}`;
  for (let n = 0; n < tries; n++) {
    for await (const { workflowId } of workflow.list({ query })) return workflow.getHandle(workflowId);
    await sleep(100);
  }
  throw new Error(`no workflow of ${id} is in the state ${state}`);
}

/** Sells one at a time until one is not grouped any more: what came before was too much for single starts. */
async function sellAlone(
  name: string,
  partition: number,
): Promise<{ sold: number; workflow: WorkflowHandle }> {
  for (let sold = 1; ; sold++) {
    await system.publish('PAYMENT_SUCCESS', [paid(`${name}-${sold}`)], partition);
    const alone = workflowOf(`${name}-${sold}`, DONE, 15);
    const workflow = await alone.catch(() => undefined);
    if (workflow) return { sold, workflow };
  }
}

test('upgraded under load: what is parked is decided, what waits is applied, the old version is left without work', async () => {
  system = await createSystem(2);
  const { database } = system;
  await database.stock('A', '10000');
  const old = await system.start('run', version('1'));
  await promote('1');
  await system.publish('PAYMENT_SUCCESS', [paid('EDITED'), paid('LATE', '1', 'B')], 0);
  const first = await seen(await workflowOf('EDITED', DONE));
  expect(first).toEqual({ buildId: '1', patched: false, eager: false });
  await system.publish('PAYMENT_SUCCESS', [paid('EDITED', '3')], 0);
  const edited = await workflowOf('EDITED', "InventoryOutcome = 'PARKED/CONFLICT'");
  const late = await workflowOf('LATE', "InventoryOutcome = 'UNKNOWN_STOCK'");

  let orders = 0;
  let busy = true;
  const load = (async () => {
    for (let burst = 0; busy; burst++) {
      const events = Array.from({ length: burst % 5 ? 1 : 60 }, () => paid(`L-${orders++}`));
      await system.publish('PAYMENT_SUCCESS', events);
      await sleep(100);
    }
  })();
  const next = await system.start('run', version('2'), nextVersion());
  await promote('2');
  await database.stock('B', '10');
  const signed = ['--actor', 'ana', '--reason', 'edited at the till'];
  const reference = `SALE_ORDER/EDITED-${system.name}`;
  const decided = await system.cli('parked', 'resolve', reference, '--decision', 'correct', ...signed);
  expect([decided.code, decided.err]).toEqual([0, '']);
  busy = false;
  await load;
  for (const waited of [edited, late]) {
    expect(await waited.result()).toMatchObject({ outcome: 'APPLIED' });
    expect(await seen(waited)).toMatchObject({ buildId: '2', patched: true });
  }
  // One partition is read by each process: the old one starts workflows for the new version too.
  let alone = 0;
  for (const partition of [0, 1]) {
    const { sold, workflow } = await sellAlone(`NEW-${partition}`, partition);
    alone += sold;
    expect(await seen(workflow)).toMatchObject({ buildId: '2', patched: true });
  }

  // Nothing is bound to the old version any more, so it may go; all that comes is done without it.
  const bound = `TemporalWorkerDeploymentVersion = '${system.name}:1' AND ExecutionStatus = 'Running'`;
  while ((await system.temporal.client.workflow.count(bound)).count > 0) await sleep(100);
  expect(await old.kill('SIGTERM')).toBe(0);
  await system.publish('PAYMENT_SUCCESS', [paid('LAST')]);
  const sold = 3 + orders + alone + 1;
  while ((await database.onHand('A')) !== String(10_000 - sold)) await sleep(100);
  expect(await database.onHand('B')).toBe('9');
  await database.expectChainsHold({ A: '10000', B: '10' });
  const groups = `TaskQueue = '${system.name}' AND WorkflowType = 'moveStockBatch' AND ${DONE}`;
  expect((await system.temporal.client.workflow.count(groups)).count).toBeGreaterThan(0);
  expect(next.output()).not.toContain('"level":50');
});

test('a version is a deployment and a build, both or none', () => {
  expect(() => readConfig({ TEMPORAL_DEPLOYMENT_NAME: 'inventory' })).toThrow(
    /TEMPORAL_WORKER_BUILD_ID go together/,
  );
  expect(() => readConfig({ TEMPORAL_DEPLOYMENT_NAME: 'a.b', TEMPORAL_WORKER_BUILD_ID: '1' })).toThrow(
    /TEMPORAL_DEPLOYMENT_NAME: "a.b" must be without/,
  );
});
