/** A parked command in its workflow: time skips, the ledger's answers are fakes. */
import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { Activities } from '../activities';
import { moveStockWorkflowId, SEARCH_ATTRIBUTES, type MoveStock, type MoveStockResult } from '../commands';
import {
  MAX_REASON_CHARACTERS,
  PARKED_QUERY,
  RESOLVE_UPDATE,
  type Hindrance,
  type Parked,
  type ParkedView,
  type Resolution,
  type ResolveAnswer,
} from '../decisions';
import { order } from './commandsFor';
import { startTimeSkipping, type TimeSkipping } from './timeSkipping';

const DAY_MS = 86_400_000;
let env: TestWorkflowEnvironment;
let skipping: TimeSkipping;

beforeAll(async () => {
  skipping = await startTimeSkipping();
  env = skipping.env;
});
afterAll(() => env.teardown());

const earlier = {
  workflowId: 'earlier',
  source: { topic: 'T', partition: 0, offset: '1' },
  recordedAt: '2026-11-01T00:00:00.000Z',
};
const conflict: Hindrance = {
  outcome: 'CONFLICT',
  of: earlier,
  differences: [{ inventoryStockId: 'A', recorded: '-2', asked: '-3', difference: '-1' }],
  asOf: 1,
};
const short: Hindrance = { outcome: 'REFUSED', short: [{ inventoryStockId: 'A', onHand: '1', wanted: '3' }] };
const missing: Hindrance = { outcome: 'UNKNOWN_STOCK', missing: ['A'], waitMs: DAY_MS };
const applied = (resolution?: Resolution): MoveStockResult => ({
  outcome: 'APPLIED',
  legs: [{ inventoryStockId: 'A', delta: '-3', onHandAfter: '-2', belowZero: true }],
  ...(resolution ? { decided: signed(resolution) } : {}),
});
const signed = ({ decision, actor, reason }: Resolution) => ({ decision, actor, reason });
const ana = (decision: Resolution['decision'], reason = 'typo'): Resolution => ({
  decision,
  actor: 'ana',
  reason,
});

/** A ledger of one command that remembers what was parked and decided, as the real one does. */
class FakeLedger {
  /** In order; the same one again at once counts as one: on a slow machine Temporal runs an activity twice. */
  readonly calls: string[] = [];
  settled: MoveStockResult | undefined;
  constructor(
    public against: Hindrance,
    private readonly deadlineMs = 30 * DAY_MS,
  ) {}

  parkedSince: number | undefined;

  async parked(command: MoveStock): Promise<Parked> {
    this.parkedSince ??= await env.currentTimeMs();
    const workflowId = moveStockWorkflowId(command);
    return {
      outcome: 'PARKED',
      case: this.against.outcome,
      of: { ...earlier, workflowId, recordedAt: new Date(this.parkedSince).toISOString() },
      here: { against: this.against, until: new Date(this.parkedSince + this.deadlineMs).toISOString() },
    };
  }

  readonly activities: Partial<Activities> = {
    checkTracking: () => Promise.resolve(null),
    adjustStock: () => (this.calls.push('adjustStock'), Promise.resolve(this.settled ?? this.against)),
    park: (command) => (this.note('park'), this.parked(command)),
    decide: async (command, resolution) => {
      this.note(`decide ${resolution.decision}`);
      if (this.settled) return this.settled;
      if (resolution.decision === 'retry') return this.parked(command);
      this.settled =
        resolution.decision === 'discard'
          ? { outcome: 'REFUSED', decided: signed(resolution), of: earlier }
          : applied(resolution);
      return this.settled;
    },
  };

  private note(call: string): void {
    if (this.calls.at(-1) !== call) this.calls.push(call);
  }
}

async function start(taskQueue: string, command = order(randomUUID(), { A: '-3' })) {
  return env.client.workflow.start('moveStock', {
    taskQueue,
    workflowId: moveStockWorkflowId(command),
    args: [command],
  });
}

const resolve = (handle: WorkflowHandle, resolution: Resolution) =>
  handle.executeUpdate<ResolveAnswer, [Resolution]>(RESOLVE_UPDATE, { args: [resolution] });

const outcomeOf = async (handle: WorkflowHandle) =>
  (await handle.describe()).searchAttributes[SEARCH_ATTRIBUTES.outcome]?.[0];

async function untilParked(handle: WorkflowHandle): Promise<ParkedView> {
  for (;;) {
    const view = await handle.query<ParkedView | null>(PARKED_QUERY).catch(() => null);
    if (view) return view;
    await env.sleep(10);
  }
}

test.each<[Resolution['decision'], Hindrance, string]>([
  ['correct', conflict, 'APPLIED'],
  ['discard', conflict, 'REFUSED'],
  ['force', short, 'APPLIED'],
  ['discard', short, 'REFUSED'],
])('%s: the caller and the workflow answer the same', async (decision, against, end) => {
  const ledger = new FakeLedger(against);
  await skipping.withFakes(ledger.activities, async (taskQueue) => {
    const handle = await start(taskQueue);
    const view = await untilParked(handle);
    expect(view).toMatchObject({ case: against.outcome, against });
    expect(view.choices.map((choice) => choice.decision)).toEqual(['retry', 'force', 'correct', 'discard']);
    expect(await outcomeOf(handle)).toBe(`PARKED/${against.outcome}`);
    const answer = await resolve(handle, ana(decision));
    expect(answer).toMatchObject({ became: 'decided', result: { outcome: end, decided: ana(decision) } });
    expect(await handle.result()).toEqual(answer.result);
    expect(await outcomeOf(handle)).toBe(end);
    expect(ledger.calls).toEqual(['adjustStock', 'park', `decide ${decision}`]);
  });
});

test('retry: looks again, parks again, and applies once nothing stands in the way', async () => {
  const ledger = new FakeLedger(short);
  await skipping.withFakes(ledger.activities, async (taskQueue) => {
    const handle = await start(taskQueue);
    await untilParked(handle);
    ledger.against = { outcome: 'UNKNOWN_STOCK', missing: ['A'], waitMs: DAY_MS };
    expect(await resolve(handle, ana('retry'))).toMatchObject({
      became: 'parked-again',
      result: { here: { against: { missing: ['A'] } } },
    });
    expect(await outcomeOf(handle)).toBe('PARKED/UNKNOWN_STOCK');
    ledger.settled = applied(ana('retry', 'refilled'));
    expect((await resolve(handle, ana('retry', 'refilled'))).became).toBe('decided');
    expect(await handle.result()).toEqual(ledger.settled);
  });
});

test('an unknown stock is waited for with growing delays, no longer than the waiting time, then parked', async () => {
  const ledger = new FakeLedger(missing);
  await skipping.withFakes(ledger.activities, async (taskQueue) => {
    const before = await env.currentTimeMs();
    const handle = await start(taskQueue);
    // A result is waited for, so time skips: through the waiting, and to the deadline.
    expect(await handle.result()).toMatchObject({
      outcome: 'REFUSED',
      decided: { decision: 'discard', actor: 'deadline' },
    });
    // 1 + 2 + 4 ... + 512 s in 10 looks, then one each 600 s, the last one cut short by the end of the day.
    const looks = ledger.calls.filter((call) => call === 'adjustStock').length;
    expect(looks).toBe(1 + 10 + Math.ceil((DAY_MS / 1000 - 1023) / 600));
    const waitedMs = ledger.parkedSince! - before;
    expect(waitedMs).toBeGreaterThanOrEqual(DAY_MS);
    expect(waitedMs).toBeLessThan(DAY_MS + 60_000);
    expect((await env.currentTimeMs()) - ledger.parkedSince!).toBeGreaterThanOrEqual(30 * DAY_MS);
  });
});

test('who waits for a stock can be discarded at once; a retry is refused because it looks by itself', async () => {
  const ledger = new FakeLedger(missing);
  await skipping.withFakes(ledger.activities, async (taskQueue) => {
    const handle = await start(taskQueue);
    while ((await outcomeOf(handle)) !== 'UNKNOWN_STOCK') await env.sleep(10);
    await expect(resolve(handle, ana('retry'))).rejects.toMatchObject({
      cause: { message: expect.stringContaining('looks again by itself') },
    });
    expect((await resolve(handle, ana('discard'))).became).toBe('decided');
    expect(await handle.result()).toMatchObject({ outcome: 'REFUSED', decided: ana('discard') });
  });
});

test('undecided at the deadline: refused, and recorded as decided by the deadline', async () => {
  const ledger = new FakeLedger(conflict, 3 * DAY_MS);
  await skipping.withFakes(ledger.activities, async (taskQueue) => {
    const handle = await start(taskQueue);
    const result = await handle.result();
    expect(result).toMatchObject({ decided: { decision: 'discard', actor: 'deadline' } });
    expect((result as { decided: { reason: string } }).decided.reason).toContain('undecided until');
    expect(ledger.calls).toEqual(['adjustStock', 'park', 'decide discard']);
  });
});

const wrong: [Hindrance, Partial<Resolution>, string][] = [
  [conflict, { decision: 'force' }, 'force does not fit CONFLICT: the document would'],
  [conflict, { actor: ' ' }, 'actor is empty'],
  [conflict, { reason: '' }, 'reason is empty'],
  [conflict, { actor: 'deadline' }, 'deadline is not a person'],
  [short, { decision: 'correct' }, 'correct does not fit REFUSED: nothing is recorded'],
  [short, { decision: 'delete' as 'force' }, 'is none of retry, force, correct, discard'],
  [short, { reason: 'x'.repeat(MAX_REASON_CHARACTERS + 1) }, 'at most 500 are kept'],
];

test.each([conflict, short])(
  'wrong decision on $outcome: refused with a reason, nothing is done',
  async (against) => {
    const ledger = new FakeLedger(against);
    await skipping.withFakes(ledger.activities, async (taskQueue) => {
      const handle = await start(taskQueue);
      await untilParked(handle);
      for (const [, part, message] of wrong.filter(([of]) => of === against)) {
        await expect(resolve(handle, { ...ana('discard'), ...part })).rejects.toMatchObject({
          cause: { message: expect.stringContaining(message) },
        });
      }
      expect(ledger.calls).toEqual(['adjustStock', 'park']);
      // Ends the workflow, so that nothing runs on.
      await resolve(handle, ana('discard'));
    });
  },
);

test('two persons at once: one decision is carried out, and both learn which', async () => {
  const ledger = new FakeLedger(short);
  await skipping.withFakes(ledger.activities, async (taskQueue) => {
    const handle = await start(taskQueue);
    await untilParked(handle);
    const answers = await Promise.all([
      resolve(handle, ana('force')),
      resolve(handle, { decision: 'discard', actor: 'ben', reason: 'no' }),
    ]);
    expect(answers.map((answer) => answer.became).sort()).toEqual(['decided', 'decided-before']);
    expect(answers[0].result).toEqual(answers[1].result);
    expect(ledger.calls.filter((call) => call.startsWith('decide'))).toHaveLength(1);
    await expect(resolve(handle, ana('force'))).rejects.toThrow();
  });
});

test('a decision whose answer was lost on the way is found in the ledger, also by the one who comes next', async () => {
  const ledger = new FakeLedger(short);
  const { decide } = ledger.activities;
  let lost = 0;
  ledger.activities.decide = async (command, resolution) => {
    const result = await decide!(command, resolution);
    if (lost++ === 0) throw new Error('the worker dies between transaction and answer');
    return result;
  };
  await skipping.withFakes(ledger.activities, async (taskQueue) => {
    const handle = await start(taskQueue);
    await untilParked(handle);
    expect((await resolve(handle, ana('force'))).became).toBe('decided');
    expect(await handle.result()).toEqual(applied(ana('force')));
  });
});

test('parked by a run that was ended from outside: the next run of the same command takes it over', async () => {
  const ledger = new FakeLedger(conflict);
  await skipping.withFakes(ledger.activities, async (taskQueue) => {
    const command = order(randomUUID(), { A: '-3' });
    const first = await start(taskQueue, command);
    await untilParked(first);
    await first.terminate('by mistake');
    const of = (await ledger.parked(command)).of;
    ledger.activities.checkTracking = () => Promise.resolve({ outcome: 'PARKED', case: 'CONFLICT', of });
    await skipping.withFakes(ledger.activities, async (otherQueue) => {
      const second = await start(otherQueue, command);
      expect((await untilParked(second)).parkedAt).toBe(of.recordedAt);
      expect((await resolve(second, ana('correct'))).became).toBe('decided');
    });
  });
});

test('a parked workflow survives its worker: another one, without any cache, replays it and decides', async () => {
  const ledger = new FakeLedger(short);
  const taskQueue = randomUUID();
  const first = await skipping.worker(taskQueue, ledger.activities, { maxCachedWorkflows: 0 });
  const handle = await first.runUntil(async () => {
    const started = await start(taskQueue);
    await untilParked(started);
    expect((await resolve(started, ana('retry'))).became).toBe('parked-again');
    return started;
  });
  const second = await skipping.worker(taskQueue, ledger.activities, { maxCachedWorkflows: 0 });
  await second.runUntil(async () => {
    expect((await untilParked(handle)).case).toBe('REFUSED');
    expect((await resolve(handle, ana('force'))).became).toBe('decided');
    expect(await handle.result()).toMatchObject({ outcome: 'APPLIED' });
  });
});
