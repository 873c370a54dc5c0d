/** The rule of grouping, on our own port: who gets a workflow of their own, and how groups are cut. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowClient } from '@temporalio/client';
import { createGroupingStarter } from '../bridge/group';
import type { Launch } from '../bridge/start';
import { groupWorkflowId, moveStockWorkflowId, type Command, type MoveStockBatch } from '../commands';
import { createLogger } from '../log';
import { order } from './commandsFor';

interface Fakes {
  launched: Launch[];
  singles: Command[];
  finish: () => void;
}

/** Ends what a test left running: whoever waits for it would keep the process. */
const endings: (() => void)[] = [];
afterEach(() => endings.splice(0).forEach((end) => end()));

/** A grouping starter whose launches are recorded; groups finish when told. */
function grouping(settings: {
  singleStartsPerSecond: number;
  groupMax?: number;
  failing?: boolean;
  slowSingles?: boolean;
}) {
  const waiting: (() => void)[] = [];
  let over = false;
  const fakes: Fakes = {
    launched: [],
    singles: [],
    finish: () => waiting.splice(0).forEach((done) => done()),
  };
  endings.push(() => {
    over = true;
    fakes.finish();
  });
  const starter = createGroupingStarter(
    {
      start: (command) => {
        fakes.singles.push(command);
        return settings.slowSingles ? new Promise(() => undefined) : Promise.resolve('started' as const);
      },
    },
    (launch) => {
      fakes.launched.push(launch);
      return settings.failing ? Promise.reject(new Error('away')) : Promise.resolve('started' as const);
    },
    {
      groupMax: 10,
      groupLingerMs: 5,
      client: {
        result: () => (over ? Promise.resolve() : new Promise<void>((resolve) => waiting.push(resolve))),
        withDeadline: (_: number, ask: () => unknown) => ask(),
      } as unknown as WorkflowClient,
      log: createLogger('silent'),
      ...settings,
    },
  );
  return { starter, ...fakes };
}

const command = (id: number, stock = 'A'): Command => ({
  type: 'moveStock',
  input: order(`G-${id}`, { [stock]: '-1' }),
});
const sizes = (launched: Launch[]) => launched.map(({ input }) => (input as MoveStockBatch).commands.length);

test('a group of one is none: every command has a workflow of its own, however fast they come', async () => {
  const { starter, singles, launched } = grouping({ singleStartsPerSecond: 0, groupMax: 1 });
  await Promise.all(Array.from({ length: 100 }, (_, id) => starter.start(command(id))));
  expect([singles.length, launched.length]).toEqual([100, 0]);
});

test('where single workflows do not end, groups take over, and singles come back once they do', async () => {
  const { starter, singles, launched, finish } = grouping({ singleStartsPerSecond: 1_000 });
  for (let id = 0; id < 500; id++) await Promise.race([starter.start(command(id)), sleep(20)]);
  // Each twentieth is followed, and twenty are followed at most.
  expect(singles).toHaveLength(19 * 20 + 1);
  expect(launched.length).toBeGreaterThan(0);
  for (let round = 0; round < 20; round++) {
    finish();
    await sleep(10);
  }
  await starter.start(command(1_000));
  expect(singles).toHaveLength(19 * 20 + 2);
});

test('below the rate every command has a workflow of its own', async () => {
  const { starter, singles, launched } = grouping({ singleStartsPerSecond: 100 });
  for (let i = 0; i < 20; i++) await starter.start(command(i));
  expect(singles).toHaveLength(20);
  expect(launched).toHaveLength(0);
});

test('above the rate commands are grouped, and single starts return when the load has fallen', async () => {
  const { starter, singles, launched, finish } = grouping({ singleStartsPerSecond: 20 });
  const starts = Array.from({ length: 60 }, (_, i) => starter.start(command(i)));
  const timer = setInterval(finish, 5);
  await Promise.all(starts);
  expect(singles.length).toBeLessThanOrEqual(21);
  expect(sizes(launched).reduce((sum, n) => sum + n, singles.length)).toBe(60);
  await sleep(2_100);
  const before = singles.length;
  await starter.start(command(100));
  expect(singles.length).toBe(before + 1);
  clearInterval(timer);
});

test('while a group runs nothing is started beside it, however long the bridge has seen no command', async () => {
  const { starter, singles, launched, finish } = grouping({ singleStartsPerSecond: 20 });
  await Promise.all(Array.from({ length: 40 }, (_, i) => starter.start(command(i))));
  const before = singles.length;
  await sleep(2_100);
  await starter.start(command(100));
  expect(singles.length).toBe(before);
  finish();
  await sleep(10);
  finish();
  await sleep(10);
  await starter.start(command(101));
  expect(singles.length).toBe(before + 1);
  expect(sizes(launched).at(-1)).toBe(1);
});

test('when single starts are answered slower than they come, the rest is grouped', async () => {
  const { starter, singles, launched } = grouping({ singleStartsPerSecond: 1_000, slowSingles: true });
  const starts = Array.from({ length: 30 }, (_, i) => starter.start(command(i)));
  await Promise.race([Promise.all(starts), sleep(100)]);
  expect(singles).toHaveLength(20);
  expect(sizes(launched)).toEqual([10]);
});

test('a group holds its commands in order, under the ID that its members make', async () => {
  const { starter, launched } = grouping({ singleStartsPerSecond: 0 });
  const commands = Array.from({ length: 10 }, (_, i) => command(i));
  await Promise.all(commands.map((each) => starter.start(each)));
  expect(launched).toHaveLength(1);
  expect((launched[0]!.input as MoveStockBatch).commands).toEqual(commands.map(({ input }) => input));
  const ids = commands.map(({ input }) => moveStockWorkflowId(input as never));
  expect(launched[0]!.workflowId).toBe(groupWorkflowId(ids));
  expect(launched[0]!.description.staticSummary).toMatch(
    /^10 commands from PAYMENT_SUCCESS\\?\[0\\?\] \d+\.\.\d+ \(10\)$/,
  );
});

test('while six groups are unfinished the rest waits in Kafka instead of piling up in Temporal', async () => {
  const { starter, launched, finish } = grouping({ singleStartsPerSecond: 0 });
  const starts = Array.from({ length: 90 }, (_, i) => starter.start(command(i)));
  const six = Array<number>(6).fill(10);
  await sleep(100);
  expect(sizes(launched)).toEqual(six);
  finish();
  await sleep(50);
  finish();
  await Promise.all(starts);
  expect(sizes(launched)).toEqual([...six, 10, 10, 10]);
});

test('whoever leaves while six groups are unfinished is told so, and is not sent', async () => {
  const { starter, launched, finish } = grouping({ singleStartsPerSecond: 0 });
  const first = Array.from({ length: 60 }, (_, i) => starter.start(command(i)));
  await Promise.all(first);
  const leaving = new AbortController();
  const waiting = starter.start(command(60), leaving.signal);
  const staying = starter.start(command(61));
  leaving.abort();
  await expect(waiting).rejects.toMatchObject({ reason: 'groups-unfinished' });
  finish();
  await staying;
  expect(sizes(launched)).toEqual([...Array<number>(6).fill(10), 1]);
});

test('a group is cut by bytes long before Temporal would refuse it', async () => {
  const { starter, launched, finish } = grouping({ singleStartsPerSecond: 0, groupMax: 2_000 });
  const timer = setInterval(finish, 5);
  const stock = 'S'.repeat(100);
  const large = (id: number): Command => ({
    type: 'moveStock',
    input: order(
      `L-${id}`,
      Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`${stock}${i}`, '-1'])),
    ),
  });
  await Promise.all(Array.from({ length: 60 }, (_, i) => starter.start(large(i))));
  clearInterval(timer);
  expect(launched.length).toBeGreaterThan(3);
  for (const { input } of launched) expect(JSON.stringify(input).length).toBeLessThan(500_000);
});

test('a group that cannot be started fails for each of its commands, and what nobody waits for is not sent', async () => {
  const { starter, launched } = grouping({ singleStartsPerSecond: 0, failing: true });
  const gone = AbortSignal.abort();
  const results = await Promise.allSettled([
    starter.start(command(1)),
    starter.start(command(2), gone),
    starter.start(command(3)),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(sizes(launched)).toEqual([2]);
});

test('catalogue commands have groups of their own', async () => {
  const { starter, launched } = grouping({ singleStartsPerSecond: 0 });
  const source = { topic: 'cdc', partition: 0, offset: '1' };
  await Promise.all([
    starter.start(command(1)),
    starter.start({ type: 'ensureDefaultLocation', input: { schema: 1, merchantId: 'luna', source } }),
  ]);
  expect(launched.map(({ type }) => type).sort()).toEqual(['ensureCatalogueBatch', 'moveStockBatch']);
});
