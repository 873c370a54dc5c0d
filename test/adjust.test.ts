/** What people change goes through the ledger, once, and what they changed beside it is accounted for there. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Big from 'big.js';
import { Command } from 'commander';
import { toDecimal128 } from '../activities/decimals';
import { registerAdjust } from '../cli/adjust';
import { createSystem, type System } from './system';

jest.setTimeout(180_000);
let system: System;
let folder: string;
beforeAll(async () => {
  system = await createSystem();
  folder = mkdtempSync(join(tmpdir(), 'adjust-'));
  await system.start('run');
});
afterAll(async () => {
  await system.close();
  rmSync(folder, { recursive: true });
});

const by = ['--actor', 'ana', '--reason', 'stocktaking'];
const decimal = (text: string) => toDecimal128(new Big(text));
/** Unique in the namespace that all tests share. */
const id = (name: string) => `${name}-${system.name}`;

async function adjust(...args: string[]): Promise<{ code: number | null; answer: Record<string, string> }> {
  const { code, out, err } = await system.cli('adjust', '--json', ...args);
  if (out === '') throw new Error(`exit code ${code}: ${err}`);
  return { code, answer: JSON.parse(out) as Record<string, string> };
}

async function audited() {
  const { code, out } = await system.cli('audit', '--json', '--plan', join(folder, 'plan.json'));
  const { list } = JSON.parse(out) as { list: { problem: string; key: string }[] };
  return { code, found: list.map(({ problem, key }) => `${problem} ${key}`).sort() };
}

async function sell(count: number, stockId: string, from = 0): Promise<void> {
  const lines = [{ stockId, quantity: '1' }];
  await system.publish(
    'PAYMENT_SUCCESS',
    Array.from({ length: count }, (_, i) => ({ saleOrderId: id(`${stockId}-${from + i}`), lines })),
  );
  await system.settled();
}

test('--by changes stock once: the same ID again is a duplicate, with another quantity a conflict', async () => {
  await system.database.stock('A', '10');
  const first = await adjust('A', '--by', '-2.5', '--id', id('a'), ...by);
  expect(first).toMatchObject({ code: 0, answer: { outcome: 'APPLIED', says: 'on hand 7.5' } });
  const second = await adjust('A', '--by', '-2.50', '--id', id('a'), ...by);
  expect(second).toMatchObject({ code: 0, answer: { outcome: 'DUPLICATE' } });
  const other = await adjust('A', '--by', '-3', '--id', id('a'), ...by);
  expect(other).toMatchObject({ code: 1, answer: { outcome: 'PARKED' } });
  expect(await system.database.onHand('A')).toBe('7.5');
  const entry = await system.database.tracking.findOne({ referenceId: id('a') });
  expect(entry).toMatchObject({ referenceType: 'ADJUSTMENT', actor: 'ana', reason: 'stocktaking' });
});

test('--count sets the stock to what was counted, and says who counted even if it was right', async () => {
  await system.database.stock('C', '10');
  const first = await adjust('C', '--count', '12', '--id', id('c'), ...by);
  expect(first).toMatchObject({ code: 0, answer: { outcome: 'APPLIED', delta: '2' } });
  expect(await adjust('C', '--count', '12', '--id', id('c'), ...by)).toMatchObject({
    answer: { outcome: 'DUPLICATE' },
  });
  expect(await adjust('C', '--count', '9', '--id', id('c'), ...by)).toMatchObject({
    code: 1,
    answer: { outcome: 'CONFLICT' },
  });
  expect(await adjust('C', '--count', '12', ...by)).toMatchObject({
    answer: { outcome: 'APPLIED', delta: '0' },
  });
  await system.database.expectChainsHold({ C: '10' });
  expect(await system.database.onHand('C')).toBe('12');
});

test('--count while the stock moves never undoes a sale', async () => {
  await system.database.stock('D', '1000');
  const selling = sell(120, 'D');
  const counts = [await adjust('D', '--count', '500', ...by), await adjust('D', '--count', '400', ...by)];
  await selling;
  await system.database.expectChainsHold({ D: '1000' });
  for (const { answer } of counts) {
    if (answer['outcome'] !== 'APPLIED') continue;
    const entry = await system.database.tracking.findOne({ referenceId: answer['id']! });
    // Right after the count the stock stood at what was counted.
    expect(String((entry as { onHandAfter?: unknown }).onHandAfter)).toBe(String(entry?.counted));
  }
  expect(counts.map(({ answer }) => answer['outcome'])).toContain('APPLIED');
});

test('a stock edited by hand, an entry deleted: audit names them, the plan repairs them, audit is clean', async () => {
  for (const stock of ['E', 'F', 'G', 'H']) await system.database.stock(stock, '10');
  for (const stock of ['E', 'F', 'G', 'H']) await sell(3, stock);
  expect(await audited()).toMatchObject({ code: 0, found: [] });

  await system.database.stocks.updateOne({ _id: 'E' }, { $set: { onHand: decimal('4') } });
  await system.database.stocks.updateOne({ _id: 'F' }, { $inc: { onHand: decimal('2') } });
  await sell(1, 'F', 3);
  await system.database.tracking.deleteOne({ inventoryStockId: 'G', sequence: 2 });
  await system.database.tracking.deleteOne({ inventoryStockId: 'H', sequence: 3 });
  const { code, found } = await audited();
  expect(code).toBe(1);
  expect(found.map((text) => text.split('-')[0])).toEqual([
    'drift E',
    'gap H',
    'gap SALE_ORDER/G',
    'step SALE_ORDER/F',
  ]);

  // Events go on between audit and repair.
  await sell(1, 'E', 3);
  const plan = join(folder, 'first.json');
  copyFileSync(join(folder, 'plan.json'), plan);
  expect((JSON.parse(readFileSync(plan, 'utf8')) as { items: object[] }).items).toHaveLength(4);
  const repaired = await system.cli(
    'adjust',
    '--plan',
    plan,
    '--actor',
    'ana',
    '--reason',
    'edited in the shell',
  );
  expect(repaired.out).toContain('4 of 4 repairs are in the ledger');
  expect(repaired.code).toBe(0);
  expect(await audited()).toMatchObject({ code: 0, found: [] });
  // Repairs change no stock, and a plan posted twice repairs once.
  const onHand = async () => Promise.all(['E', 'F', 'G', 'H'].map((stock) => system.database.onHand(stock)));
  expect(await onHand()).toEqual(['3', '8', '7', '7']);
  const entries = await system.database.tracking.countDocuments();
  const again = await system.cli('adjust', '--plan', plan, '--actor', 'ana');
  expect(again.out.match(/^DUPLICATE/gm)).toHaveLength(4);
  expect(again.code).toBe(0);
  expect(await system.database.tracking.countDocuments()).toBe(entries);

  // What was taken out by hand was wrong: put back, by an entry as well.
  await adjust('E', '--by', '3', ...by);
  await sell(1, 'H', 3);
  expect(await audited()).toMatchObject({ code: 0, found: [] });
  expect(await onHand()).toEqual(['6', '8', '7', '6']);

  // A repair that was archived meanwhile is known as well.
  const hours = 3_600_000;
  const { tracking, archive } = system.database;
  await tracking.updateMany({}, [{ $set: { recordedAt: { $subtract: ['$recordedAt', 2 * hours] } } }]);
  await system.cli('archive', '--before', new Date(Date.now() - hours).toISOString());
  const { items } = JSON.parse(readFileSync(plan, 'utf8')) as { items: { id: string }[] };
  const archived = items.map((item) => ({ _id: { $regex: `^ADJUSTMENT/${encodeURIComponent(item.id)}/` } }));
  expect(await archive.countDocuments({ $or: archived })).toBe(4);
  const left = await tracking.countDocuments();
  const late = await system.cli('adjust', '--plan', plan, '--actor', 'ana');
  expect([late.code, late.out.match(/^DUPLICATE/gm)?.length]).toEqual([0, 4]);
  expect(await tracking.countDocuments()).toBe(left);
  expect(await onHand()).toEqual(['6', '8', '7', '6']);
});

test.each<[string, string[], string]>([
  ['no number', ['A', '--by', '1e3', '--actor', 'a', '--reason', 'r'], 'must be a decimal'],
  ['nothing', ['A', '--by', '0', '--actor', 'a', '--reason', 'r'], 'changes nothing'],
  ['two ways at once', ['A', '--by', '1', '--count', '2', '--actor', 'a'], 'give one of'],
  ['no reason', ['A', '--by', '1', '--actor', 'a'], 'reason is empty'],
  ['no actor', ['A', '--by', '1', '--reason', 'r'], '--actor'],
])('%s is refused', async (_, args, message) => {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  registerAdjust(program);
  program.commands.forEach((verb) => verb.exitOverride().configureOutput({ writeErr: () => undefined }));
  await expect(program.parseAsync(['adjust', ...args], { from: 'user' })).rejects.toThrow(message);
});

test('an unknown stock is refused', async () => {
  const { code, err } = await system.cli('adjust', 'nowhere', '--by', '1', ...by);
  expect([code, err]).toEqual([2, expect.stringContaining('there is no stock nowhere')]);
});

test('a file that is no plan is refused', async () => {
  const file = join(folder, 'other.json');
  writeFileSync(
    file,
    '{"inventoryPlan":1,"items":[{"id":"x","stockId":"A","delta":"1e9","repairs":{"sequence":1},"reason":""}]}',
  );
  const { code, err } = await system.cli('adjust', '--plan', file, ...by);
  expect([code, err]).toEqual([2, expect.stringContaining('items.0.delta')]);
});
