/** From Kafka to a person's decision and on, with real processes: what `inventory parked` and `reopen` do. */
import { setTimeout as sleep } from 'node:timers/promises';
import { SEARCH_ATTRIBUTES } from '../commands';
import {
  IS_PARKED,
  PARKED_QUERY,
  RESOLVE_UPDATE,
  type ParkedView,
  type Resolution,
  type ResolveAnswer,
} from '../decisions';
import { isParked } from '../stack/settled';
import { createSystem, type System } from './system';

jest.setTimeout(240_000);
let system: System;
afterEach(() => system.close());

const paid = (id: string, quantity: string, stockId = 'A') => ({
  saleOrderId: `${id}-${system.name}`,
  paidAt: '2026-11-01T12:00:00Z',
  lines: [{ stockId, quantity }],
});
const reference = (id: string) => `SALE_ORDER/${encodeURIComponent(`${id}-${system.name}`)}`;
const signed = ['--actor', 'ana', '--reason', 'typo at the till'];

/** Lists are written a moment later than workflows change. */
async function listed(count: number, ...filters: string[]): Promise<Record<string, unknown>[]> {
  const all = `${IS_PARKED} AND TaskQueue = '${system.name}'`;
  while (filters.length === 0 && (await system.temporal.client.workflow.count(all)).count !== count)
    await sleep(100);
  const { code, out, err } = await system.cli('parked', '--json', ...filters);
  expect([code, err]).toEqual([0, '']);
  const rows = JSON.parse(out) as Record<string, unknown>[];
  expect(rows).toHaveLength(count);
  return rows;
}

test('an edited order: seen parked, corrected with one command, and a replay of everything changes nothing', async () => {
  system = await createSystem();
  await system.database.stock('A', '10');
  const run = await system.start('run');
  await system.publish('PAYMENT_SUCCESS', [paid('SO-1', '2'), paid('SO-2', '1')]);
  await system.settled();
  await system.publish('PAYMENT_SUCCESS', [paid('SO-1', '3')]);
  const [edited] = (await system.settled()).filter(isParked);
  expect(edited!.status.name).toBe('RUNNING');
  await listed(1);
  expect(await listed(1, '--case', 'CONFLICT')).toMatchObject([
    { case: 'CONFLICT', reference: reference('SO-1'), stocks: ['A'], workflowId: edited!.workflowId },
  ]);
  expect(await listed(0, '--case', 'REFUSED')).toEqual([]);

  const shown = await system.cli('parked', 'show', reference('SO-1'));
  expect(shown.code).toBe(0);
  for (const told of ['CONFLICT', 'offset 2', 'offset 0', '-2', '-3', 'A -1', 'use correct'])
    expect(shown.out).toContain(told);

  expect(
    await system.cli('parked', 'resolve', reference('SO-1'), '--decision', 'force', ...signed),
  ).toMatchObject({
    code: 2,
    out: expect.stringContaining('force does not fit CONFLICT'),
  });
  const resolved = await system.cli(
    'parked',
    'resolve',
    reference('SO-1'),
    '--decision',
    'correct',
    ...signed,
  );
  expect(resolved).toMatchObject({ code: 0, out: expect.stringContaining('APPLIED, correct by ana: typo') });
  expect(await system.database.onHand('A')).toBe('6');
  // Asked again after the answer was lost, by workflow ID because it is parked no more; and by somebody else.
  const again = ['parked', 'resolve', edited!.workflowId, '--decision', 'correct'];
  expect((await system.cli(...again, ...signed)).code).toBe(0);
  expect(await system.cli(...again, '--actor', 'ben', '--reason', 'me too')).toMatchObject({
    code: 1,
    out: expect.stringContaining('correct by ana'),
  });
  expect(run.output()).toMatch(/"case":"CONFLICT".*command parked/);
  expect(run.output()).toMatch(/"decision":"correct".*command decided/);
  expect(await run.kill('SIGTERM')).toBe(0);

  const entries = await system.database.tracking.countDocuments();
  const group = `${system.config.KAFKA_GROUP_ID}-again`;
  await system.start('run', { KAFKA_GROUP_ID: group });
  await system.settled(group);
  expect(await system.database.tracking.countDocuments()).toBe(entries);
  expect(await system.database.onHand('A')).toBe('6');
  await system.database.expectChainsHold({ A: '10' });
});

test('two persons at once, a worker killed in between: one decision is recorded and both learn which', async () => {
  system = await createSystem(1, { BELOW_ZERO_REFUSE: 'SALE_ORDER' });
  await system.database.stock('A', '1');
  const first = await system.start('run');
  await system.publish('PAYMENT_SUCCESS', [paid('SO-1', '3')]);
  const [parked] = (await system.settled()).filter(isParked);
  const handle = system.temporal.client.workflow.getHandle(parked!.workflowId);
  const decide = (decision: Resolution['decision'], actor: string) =>
    handle
      .executeUpdate<ResolveAnswer, [Resolution]>(RESOLVE_UPDATE, {
        args: [{ decision, actor, reason: 'r' }],
      })
      .then((answer) => answer.result)
      // The workflow may have ended by then: its result is the answer.
      .catch(() => handle.result());
  const both = [decide('force', 'ana'), decide('discard', 'ben')];
  expect(await first.kill('SIGKILL')).toBe('SIGKILL');
  await system.start('run');
  const [one, other] = await Promise.all(both);
  expect(one).toEqual(other);
  const decided = await system.database.tracking.find({ decision: { $exists: true } }).toArray();
  expect(decided).toHaveLength(1);
  expect(one).toMatchObject({ decided: { decision: decided[0]!.decision, actor: decided[0]!.actor } });
  expect(await system.database.onHand('A')).toBe(decided[0]!.decision === 'force' ? '-2' : '1');
});

test('a refusal, replayed, stays one; reopened by a person it is tried again; a terminated one is brought back', async () => {
  system = await createSystem(1, { BELOW_ZERO_REFUSE: 'SALE_ORDER' });
  await system.database.stock('A', '1');
  await system.start('run');
  await system.publish('PAYMENT_SUCCESS', [paid("SO 1'", '3')]);
  await system.settled();
  const ref = reference("SO 1'");
  await listed(1);
  expect((await system.cli('reopen', ref, ...signed)).out).toContain('inventory parked resolve');
  expect((await system.cli('parked', 'resolve', ref, '--decision', 'discard', ...signed)).code).toBe(0);

  const reopened = await system.cli('reopen', ref, '--json', ...signed);
  expect(reopened.code).toBe(1);
  const { workflowId, became } = JSON.parse(reopened.out) as { workflowId: string; became: string };
  expect([workflowId.endsWith('/2'), became]).toEqual([true, 'PARKED']);

  await system.temporal.client.workflow.getHandle(workflowId).terminate('by mistake');
  expect(JSON.parse((await system.cli('reopen', ref, '--json', ...signed)).out)).toMatchObject({
    workflowId,
    became: 'PARKED',
  });
  await system.database.stocks.updateOne({ _id: 'A' }, { $set: { onHand: 5 } });
  await listed(1);
  expect((await system.cli('parked', 'resolve', ref, '--decision', 'retry', ...signed)).code).toBe(0);
  expect(await system.database.onHand('A')).toBe('2');
});

test('lists of any length are read in pages, and --all decides what was shown', async () => {
  system = await createSystem();
  await system.start('run', { UNKNOWN_STOCK_WAIT: '1s', SINGLE_STARTS_PER_SECOND: '1000' });
  const count = 105;
  await system.publish('PAYMENT_SUCCESS', [
    ...Array.from({ length: count }, (_, i) => paid(`SO-${i}`, '1', i % 5 ? 'MISSING' : "OTHER'S")),
  ]);
  await listed(count);
  const table = (await system.cli('parked', '--older-than', '1s', '--stock', "OTHER'S")).out
    .trim()
    .split('\n');
  expect(table.at(-1)).toBe('21 parked');
  const head = (await system.cli('parked')).out.split('\n').filter((line) => line.startsWith('case '));
  expect(head).toHaveLength(2);

  const all = ['parked', 'resolve', '--all', '--stock', "OTHER'S", '--decision', 'discard', ...signed];
  const dry = await system.cli(...all, '--dry-run');
  expect([dry.code, dry.out.match(/UNKNOWN_STOCK: records the refusal/g)?.length]).toEqual([0, 21]);
  expect(await system.database.tracking.countDocuments({ outcome: 'REFUSED' })).toBe(0);
  expect(await system.cli(...all)).toMatchObject({ code: 2, err: expect.stringContaining('--yes') });
  expect((await system.cli(...all, '--yes')).code).toBe(0);
  expect(await system.database.tracking.countDocuments({ outcome: 'REFUSED', actor: 'ana' })).toBe(21);
  await listed(84);
});

test('the Web UI: one line that says it all, what was recorded and asked by whom, and every decision', async () => {
  system = await createSystem();
  await system.database.stock('`A` # x', '10');
  await system.start('run');
  await system.publish('PAYMENT_SUCCESS', [paid('SO-1', '2', '`A` # x')]);
  await system.settled();
  await system.publish('PAYMENT_SUCCESS', [paid('SO-1', '3', '`A` # x')]);
  const [parked] = (await system.settled()).filter(isParked);
  const handle = system.temporal.client.workflow.getHandle(parked!.workflowId);
  const { currentDetails } = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
  const lines = currentDetails.split('\n').filter(Boolean);
  expect(lines[0]).toMatch(/^\*\*PARKED, CONFLICT\*\*: SALE_ORDER SO-1-\w+ waits for a decision until /);
  expect(currentDetails).toContain('`` `A` # x `` recorded -2, asked -3, difference -1');
  expect(currentDetails).toMatch(/partition 0, offset 0/);
  expect(currentDetails).toMatch(/partition 0, offset 1/);
  for (const decision of ['**retry**', '~~force~~', '**correct**', '**discard**'])
    expect(currentDetails).toContain(decision);
  expect(await handle.query<ParkedView>(PARKED_QUERY)).toMatchObject({ case: 'CONFLICT' });
  expect(parked!.searchAttributes[SEARCH_ATTRIBUTES.outcome]).toEqual(['PARKED/CONFLICT']);
});
