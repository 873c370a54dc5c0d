/**
 * Workflows that run somewhere must go on under today's code: histories recorded from real runs (`npm run histories`)
 * are replayed against the bundle that is deployed.
 */
import { readFileSync } from 'node:fs';
import { createLogger } from '../log';
import { routeTemporalLogs } from '../temporal';
import { PATHS } from './histories/paths';
import { BUNDLE, readHistories, replay } from './histories/replay';

const histories = readHistories();
const bundle = readFileSync(BUNDLE, 'utf8');
const eventTypes = (name: string) => histories.get(name)!.history.events.map((event) => event['eventType']);

// A replay that fails is in its result; the same words on the terminal would only alarm.
beforeAll(() => routeTemporalLogs(createLogger('silent')));

test('every path has a recorded history, and each shows what its path is about', () => {
  expect([...histories.keys()]).toEqual(expect.arrayContaining(Object.keys(PATHS)));
  expect(eventTypes('applied')).toHaveLength(7);
  expect(eventTypes('mongodb-away')).toContain('EVENT_TYPE_ACTIVITY_TASK_COMPLETED');
  expect(eventTypes('unknown-stock-appeared')).toContain('EVENT_TYPE_TIMER_FIRED');
  expect(eventTypes('conflict-parked').at(-1)).not.toMatch(/EXECUTION_COMPLETED$/);
  expect(
    eventTypes('group-going-on-alone').filter((type) => /CHILD_.*_STARTED$/.test(String(type))),
  ).toHaveLength(2);
  for (const name of ['conflict-correct', 'refused-force', 'two-persons', 'unknown-stock-discarded'])
    expect(eventTypes(name)).toContain('EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED');
  expect(JSON.stringify([...histories.values()])).not.toMatch(/identity|stackTrace/);
});

test('workflows of all recorded paths go on under the bundle as it is built now', async () => {
  expect(await replay(bundle, histories)).toEqual(new Map());
});

/** Changes that workflows which run already would not survive, each with a path that tells. */
test.each([
  {
    change: 'the ledger is adjusted before it is looked into',
    from: '((await (0, activities_1.checkTracking)(command)) ?? (await (0, activities_1.adjustStock)(command)))',
    to: '((await (0, activities_1.adjustStock)(command)) ?? (await (0, activities_1.checkTracking)(command)))',
    tells: ['applied', 'mongodb-away', 'conflict-correct'],
  },
  {
    change: 'what a person decides is parked once more',
    from: 'await (0, activities_1.decide)(this.command, resolution)',
    to: 'await (0, activities_1.park)(this.command)',
    tells: ['conflict-correct', 'refused-force', 'unknown-stock-deadline'],
  },
  {
    change: 'a stock is looked for at once',
    from: 'await (0, workflow_1.condition)(interrupted, waitMs);',
    to: '',
    tells: ['unknown-stock-appeared', 'unknown-stock-waiting'],
  },
  {
    change: 'what a group cannot settle goes on in the opposite order',
    from: 'result.onTheirOwn.slice(from, from + STARTED_TOGETHER)',
    to: 'result.onTheirOwn.slice(from, from + STARTED_TOGETHER).reverse()',
    tells: ['group-going-on-alone'],
  },
])('a change that breaks running workflows is caught: $change', async ({ from, to, tells }) => {
  expect(bundle.split(from)).toHaveLength(2);
  const failed = await replay(bundle.replace(from, to), histories);
  for (const name of tells)
    expect([name, failed.get(name)]).toEqual([name, expect.stringMatching(/TMPRL1100|[Nn]ondeterminism/)]);
  expect(failed.has('catalogue-merchant')).toBe(false);
});
