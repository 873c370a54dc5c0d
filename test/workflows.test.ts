/** Workflow logic alone: time skips, activities are fakes, the server is the real time-skipping one. */
import { randomUUID } from 'node:crypto';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import {
  ensureInventoryItemWorkflowId,
  moveStockWorkflowId,
  SEARCH_ATTRIBUTES,
  type MoveStockResult,
} from '../commands';
import { order } from './commandsFor';
import { startTimeSkipping, type TimeSkipping } from './timeSkipping';

let env: TestWorkflowEnvironment;
let withFakes: TimeSkipping['withFakes'];

beforeAll(async () => {
  ({ env, withFakes } = await startTimeSkipping());
});
afterAll(() => env.teardown());

const applied: MoveStockResult = {
  outcome: 'APPLIED',
  legs: [{ inventoryStockId: 'A', delta: '-2', onHandAfter: '8', belowZero: false }],
};
const of = {
  workflowId: 'earlier',
  source: { topic: 'T', partition: 0, offset: '1' },
  recordedAt: '2026-11-01T00:00:00.000Z',
};

async function start(taskQueue: string, command = order(randomUUID(), { A: '-2' })) {
  return env.client.workflow.start('moveStock', {
    taskQueue,
    workflowId: moveStockWorkflowId(command),
    args: [command],
  });
}

test('a new command is looked up, then adjusted', async () => {
  const calls: string[] = [];
  await withFakes(
    {
      checkTracking: () => (calls.push('checkTracking'), Promise.resolve(null)),
      adjustStock: () => (calls.push('adjustStock'), Promise.resolve(applied)),
    },
    async (taskQueue) => {
      const handle = await start(taskQueue);
      expect(await handle.result()).toEqual(applied);
      expect(calls).toEqual(['checkTracking', 'adjustStock']);
      const { events } = await handle.fetchHistory();
      // Local activities: no task of their own, and one workflow task in all.
      expect(events?.filter((event) => event.activityTaskScheduledEventAttributes)).toHaveLength(0);
      expect(events?.filter((event) => event.workflowTaskCompletedEventAttributes)).toHaveLength(1);
    },
  );
});

test.each<MoveStockResult>([
  { outcome: 'DUPLICATE', of },
  { outcome: 'PARKED', case: 'CONFLICT', of },
  { outcome: 'REFUSED', decided: { decision: 'discard', actor: 'ana', reason: 'test' }, of },
])('what the ledger answers is not adjusted again, and is searchable: $outcome', async (answer) => {
  await withFakes({ checkTracking: () => Promise.resolve(answer) }, async (taskQueue) => {
    const handle = await start(taskQueue);
    expect(await handle.result()).toEqual(answer);
    const { searchAttributes, status } = await handle.describe();
    expect(status.name).toBe('COMPLETED');
    expect(searchAttributes[SEARCH_ATTRIBUTES.outcome]).toEqual([answer.outcome]);
  });
});

test('an unknown stock is waited for with growing delays, visibly, and applied when it appears', async () => {
  let looks = 0;
  const missing: MoveStockResult = { outcome: 'UNKNOWN_STOCK', missing: ['A'], waitMs: 86_400_000 };
  await withFakes(
    {
      checkTracking: () => Promise.resolve(null),
      adjustStock: () => Promise.resolve(++looks <= 14 ? missing : applied),
    },
    async (taskQueue) => {
      const before = await env.currentTimeMs();
      const handle = await start(taskQueue);
      expect(await handle.result()).toEqual(applied);
      expect(looks).toBe(15);
      // 1 + 2 + 4 ... + 512 s, then 600 s each.
      const waitedS = ((await env.currentTimeMs()) - before) / 1000;
      expect(waitedS).toBeGreaterThanOrEqual(1023 + 4 * 600);
      expect(waitedS).toBeLessThan(1023 + 4 * 600 + 60);
      const { events } = await handle.fetchHistory();
      const shown = events?.filter((event) => event.upsertWorkflowSearchAttributesEventAttributes);
      expect(shown).toHaveLength(2);
      expect((await handle.describe()).searchAttributes[SEARCH_ATTRIBUTES.outcome]).toEqual(['APPLIED']);
    },
  );
});

test('when MongoDB is away the command becomes a regular activity, tried again without end', async () => {
  let tries = 0;
  await withFakes(
    {
      checkTracking: () => Promise.resolve(null),
      adjustStock: () => (++tries <= 20 ? Promise.reject(new Error('no primary')) : Promise.resolve(applied)),
    },
    async (taskQueue) => {
      const handle = await start(taskQueue);
      expect(await handle.result()).toEqual(applied);
      expect(tries).toBe(21);
      const { events } = await handle.fetchHistory();
      const scheduled = events?.filter((event) => event.activityTaskScheduledEventAttributes);
      expect(scheduled).toHaveLength(1);
      expect(scheduled![0]!.activityTaskScheduledEventAttributes!.activityType!.name).toBe('adjustStock');
      expect(scheduled![0]!.activityTaskScheduledEventAttributes!.retryPolicy!.maximumAttempts ?? 0).toBe(0);
    },
  );
});

test('a command of a schema this worker does not know fails for good and says what to do', async () => {
  await withFakes({}, async (taskQueue) => {
    const handle = await start(taskQueue, { ...order(randomUUID(), { A: '-1' }), schema: 2 as 1 });
    await expect(handle.result()).rejects.toMatchObject({
      cause: { message: expect.stringContaining('upgrade the worker') },
    });
  });
});

test('a group is one activity; what it cannot settle goes on in workflows of their own', async () => {
  const commands = ['a', 'b', 'c'].map((id) => order(`${id}-${randomUUID()}`, { A: '-1' }));
  const alone: string[] = [];
  await withFakes(
    {
      adjustStockBatch: () => Promise.resolve({ counts: { APPLIED: 2, CONFLICT: 1 }, onTheirOwn: [1] }),
      checkTracking: (command) => {
        alone.push(command.referenceId);
        return Promise.resolve({ outcome: 'DUPLICATE', of });
      },
    },
    async (taskQueue) => {
      const run = (workflowId: string) =>
        env.client.workflow.execute('moveStockBatch', {
          taskQueue,
          workflowId,
          args: [{ schema: 1, commands }],
        });
      const id = moveStockWorkflowId(commands[1]!);
      expect(await run(randomUUID())).toEqual({ counts: { APPLIED: 2, CONFLICT: 1 }, onTheirOwn: [1] });
      expect(await env.client.workflow.result(id)).toMatchObject({ outcome: 'DUPLICATE' });
      // A second group with the same command finds its workflow there and is content.
      expect(await run(randomUUID())).toMatchObject({ onTheirOwn: [1] });
      expect(alone).toEqual([commands[1]!.referenceId]);
    },
  );
});

test('catalogue commands ensure and return what was created', async () => {
  const created = { outcome: 'APPLIED' as const, created: ['espresso@luna'] };
  await withFakes({ ensureInventoryItem: () => Promise.resolve(created) }, async (taskQueue) => {
    const command = { schema: 1 as const, variantId: 'espresso', merchantId: 'luna', source: of.source };
    const result = await env.client.workflow.execute('ensureInventoryItem', {
      taskQueue,
      workflowId: ensureInventoryItemWorkflowId(command),
      args: [command],
    });
    expect(result).toEqual(created);
  });
});
