/** Old documents leave the ledger for the archive, and every promise holds across the horizon. */
import Big from 'big.js';
import mongoose from 'mongoose';
import { adjustStockBatch } from '../activities/adjustStockBatch';
import { archive } from '../activities/archive';
import { checkTracking } from '../activities/checkTracking';
import { toDecimal128 } from '../activities/decimals';
import { Forecast } from '../activities/forecast';
import { entriesOf } from '../activities/ledger';
import type { TrackingEntry } from '../activities/models';
import { checkDatabase, setupDatabase } from '../activities/setup';
import { traceReference, traceStock } from '../activities/trace';
import { findUnsettled } from '../activities/unsettled';
import { groupWorkflowId, type MoveStock, type ReferenceType } from '../commands';
import { order, posting } from './commandsFor';
import { freshDatabase, type TestDatabase } from './database';
import { createDesk, type Desk } from './desk';

let database: TestDatabase;
let desk: Desk;
beforeEach(async () => {
  database = await freshDatabase();
  desk = createDesk(database);
  await database.stock('A', '100');
  await database.stock('B', '0');
});
afterEach(() => database.drop());

const { signal } = new AbortController();
const LONG_AGO = new Date('2020-01-01T00:00:00Z');
const HORIZON = new Date('2021-01-01T00:00:00Z');
const transfer = (id: string, legs: Record<string, string>) =>
  order(id, legs, { referenceType: 'MATERIAL_TRANSFER' });

/** Everything that stands in the ledger was recorded years ago. */
const age = (filter = {}) =>
  database.tracking.updateMany({ outcome: { $exists: true }, ...filter }, { $set: { recordedAt: LONG_AGO } });
const run = (before = HORIZON) => archive(database, { before });
const live = async () =>
  (await database.tracking.find({ outcome: { $exists: true } }).toArray()).map(({ _id }) => _id).sort();
const archived = async () => (await database.archive.find().toArray()).map(({ _id }) => _id).sort();

async function group(...commands: MoveStock[]) {
  const postings = commands.map((command) => ({
    ...posting(command, '01234567-89ab-4cde-8f01-23456789abcd'),
    workflowId: groupWorkflowId(commands.map((c) => c.referenceId)),
  }));
  return adjustStockBatch(desk.post, postings, signal);
}

test('without an archive nothing but the ledger is read', async () => {
  const reads: string[] = [];
  const spy = jest.spyOn(database.archive, 'find').mockImplementation(() => {
    reads.push('archive');
    throw new Error('must not be read');
  });
  expect(await desk.deliver(order('1', { A: '-1' }))).toMatchObject({ outcome: 'APPLIED' });
  expect(reads).toEqual([]);
  spy.mockRestore();
});

test('promise 1 across the horizon: single and grouped, an event of any age is a duplicate', async () => {
  const [one, two, three] = [
    order('1', { A: '-1' }),
    order('2', { A: '-2', B: '-2' }),
    order('3', { A: '-3' }),
  ];
  await desk.deliver(one);
  await group(two, three);
  await age();
  expect(await run()).toMatchObject({ documents: 3, entries: 4, complete: true });
  expect(await live()).toEqual([]);

  expect(await desk.deliver(one)).toMatchObject({ outcome: 'DUPLICATE', of: { source: one.source } });
  expect(await checkTracking(database, desk.posting(one))).toMatchObject({ outcome: 'DUPLICATE' });
  expect(await group(one, two, three, order('4', { A: '-4' }), two)).toEqual({
    counts: { DUPLICATE: 4, APPLIED: 1 },
    onTheirOwn: [],
  });
  const forecast = new Forecast(database, { belowZeroRefuse: new Set() });
  const verdicts = await forecast.next(
    [one, two, three].map((input) => ({ type: 'moveStock' as const, input })),
  );
  expect(verdicts.map(({ verdict }) => verdict)).toEqual(Array<string>(3).fill('already-applied'));
  expect([await database.onHand('A'), await database.onHand('B')]).toEqual(['90', '-2']);
});

test('an edited document is a conflict across the horizon, also with no stock in common', async () => {
  await desk.deliver(order('1', { A: '-1' }));
  await age();
  await run();
  const edited = order('1', { A: '-5' });
  expect(await desk.deliver(edited)).toMatchObject({
    outcome: 'CONFLICT',
    differences: [{ inventoryStockId: 'A', recorded: '-1', asked: '-5', difference: '-4' }],
  });
  expect(await desk.deliver(order('1', { B: '-1' }))).toMatchObject({ outcome: 'CONFLICT' });
  expect(await group(edited)).toEqual({ counts: { CONFLICT: 1 }, onTheirOwn: [0] });
  // The same ID under another type is another document.
  expect(await desk.deliver(transfer('1', { A: '-1', B: '1' }))).toMatchObject({ outcome: 'APPLIED' });

  // Parked and corrected, its new attempts stand in the ledger until they are old themselves.
  expect(await desk.park(edited)).toMatchObject({ outcome: 'PARKED' });
  expect(await desk.decide(edited, 'correct')).toMatchObject({ outcome: 'APPLIED', legs: [{ delta: '-4' }] });
  expect(await live()).toEqual(expect.arrayContaining(['SALE_ORDER/1/A/2', 'SALE_ORDER/1/A/3']));
  expect(await desk.deliver(edited)).toMatchObject({ outcome: 'DUPLICATE' });
  await age();
  await run();
  expect(await archived()).toEqual([
    'MATERIAL_TRANSFER/1/',
    'MATERIAL_TRANSFER/1/1.1',
    'SALE_ORDER/1/',
    'SALE_ORDER/1/2.0',
    'SALE_ORDER/1/3.0',
  ]);
  for (const command of [order('1', { A: '-1' }), edited])
    expect(await desk.deliver(command)).toMatchObject({ outcome: 'DUPLICATE' });
  expect(await database.onHand('A')).toBe('94');
});

test('a refusal sticks across the horizon, and can be re-opened', async () => {
  const strict = createDesk(database, ['SALE_ORDER']);
  const command = order('1', { B: '-1' });
  await strict.park(command);
  await strict.decide(command, 'discard');
  await age();
  expect(await run()).toMatchObject({ documents: 1, entries: 2, openings: 0 });
  expect(await strict.deliver(command)).toMatchObject({ outcome: 'REFUSED', decided: { actor: 'ana' } });
  const [refused] = await findUnsettled(database, command);
  expect(refused).toMatchObject({ attempt: 2, outcome: 'REFUSED', command: { legs: command.legs } });
  const reopening = { attempt: 2, actor: 'bo', reason: 'stock has come' };
  await database.stocks.updateOne({ _id: 'B' }, { $set: { onHand: toDecimal128(new Big(5)) } });
  expect(await strict.park(command, 'again', reopening)).toMatchObject({ outcome: 'APPLIED' });
  expect(await live()).toEqual(['SALE_ORDER/1/B/3']);
});

test('what is younger, undecided or odd stays, the document as a whole', async () => {
  await desk.deliver(order('settled', { A: '-1' }));
  await desk.deliver(order('undecided', { A: '-1' }));
  await desk.park(order('undecided', { A: '-2' }));
  await desk.deliver(order('corrected', { A: '-1', B: '-1' }));
  await desk.deliver(transfer('one leg', { A: '-1', B: '1' }));
  await desk.deliver(order('foreign', { A: '-1' }));
  await desk.deliver(order('odd', { A: '-1' }));
  await age();
  await desk.park(order('corrected', { A: '-2' }));
  await desk.decide(order('corrected', { A: '-2' }), 'correct');
  await database.tracking.deleteOne({ _id: 'MATERIAL_TRANSFER/one%20leg/B' });
  await database.tracking.updateOne({ referenceId: 'foreign' }, { $set: { belowZero: 'no' } as never });
  await database.tracking.updateOne({ referenceId: 'odd' }, { $set: { sequence: 'x' } as never });
  const before = await live();
  expect(await run()).toMatchObject({ documents: 1, kept: { younger: 1, undecided: 1, odd: 3 } });
  expect(await live()).toEqual(before.filter((id) => !id.includes('settled')));
  expect(await archived()).toEqual(['SALE_ORDER/settled/']);
});

test('an archived entry comes back exactly as it was, in less than half the bytes', async () => {
  for (const id of ['a/b', 'per%cent', 'ü#1@2:3', 'T', 'T-1']) {
    await desk.deliver(order(id, { A: '-1.25', B: '-0.5' }));
    await desk.deliver(transfer(id, { A: '-1', B: '1' }));
  }
  await group(order('g1', { B: '-100' }), order('g2', { A: '3' }, { referenceType: 'PURCHASE_ORDER' }));
  await desk.park(order('T', { A: '-7' }));
  await desk.decide(order('T', { A: '-7' }), 'correct', { reason: 'typo' });
  await desk.deliver(
    order(
      'count',
      { A: '2' },
      { referenceType: 'ADJUSTMENT', adjustment: { actor: 'ana', reason: 'r', counted: '9' } },
    ),
  );
  await database.tracking.updateOne({ _id: 'SALE_ORDER/g1/B' }, { $set: { note: 'by hand' } as never });
  await age();
  const before = (await database.tracking.find({ outcome: { $exists: true } }).toArray()) as TrackingEntry[];
  const bytes = (entries: object[]) =>
    entries.reduce((sum, entry) => sum + mongoose.mongo.BSON.calculateObjectSize(entry), 0);
  await run();
  expect(await live()).toEqual([]);
  const after = await entriesOf(database, before);
  const byId = (a: TrackingEntry, b: TrackingEntry) => (a._id < b._id ? -1 : 1);
  expect(after.sort(byId)).toEqual(before.sort(byId));
  expect(bytes(await database.archive.find().toArray())).toBeLessThan(bytes(before) / 2);
});

test('trace reads on across the horizon', async () => {
  for (let n = 1; n <= 6; n++) await desk.deliver(order(`${n}`, { A: '-1' }));
  await desk.deliver(order('PO-1#R-1', { A: '5' }, { referenceType: 'PURCHASE_ORDER' }));
  await age({ referenceId: { $in: ['1', '2', '4', 'PO-1#R-1'] } });
  await run();
  await desk.deliver(order('PO-1#R-2', { A: '5' }, { referenceType: 'PURCHASE_ORDER' }));
  const page = async (more: object) =>
    (await traceStock(database, 'A', { limit: 3, ...more }))!.entries.map(({ sequence }) => sequence);
  expect(await page({})).toEqual([6, 7, 8]);
  expect(await page({ before: 6 })).toEqual([3, 4, 5]);
  expect(await page({ before: 3 })).toEqual([1, 2]);
  expect(await page({ after: 0 })).toEqual([1, 2, 3]);
  expect(await page({ since: HORIZON })).toEqual([3, 5, 6]);
  expect(await traceStock(database, 'A', { limit: 1 })).toMatchObject({ opening: '100', before: 8 });
  expect(await traceReference(database, '4')).toMatchObject([{ key: 'SALE_ORDER/4/A', onHandAfter: '96' }]);
  const receipts = await traceReference(database, 'PO-1');
  expect(receipts.map(({ referenceId }) => referenceId)).toEqual(['PO-1#R-1', 'PO-1#R-2']);
});

test('a stock whose document lost its sequence goes on after its archived entries', async () => {
  await desk.deliver(order('1', { A: '-1' }));
  await age();
  await run();
  await database.stocks.updateOne({ _id: 'A' }, { $unset: { sequence: '' } });
  await desk.deliver(order('2', { A: '-1' }));
  expect(await database.chain('A')).toEqual([[2, '-1', '98']]);
});

test('a ledger from before there was an archive is upgraded by setup, with what it holds', async () => {
  await desk.deliver(order('1', { A: '-1' }));
  await database.archive.drop();
  await database.openings.drop();
  await expect(checkDatabase(database)).rejects.toThrow(
    'inventory_archive is missing: run `inventory setup`',
  );
  await setupDatabase(database);
  expect(await checkDatabase(database)).toContain('indexes built');
  await age();
  expect(await run()).toMatchObject({ entries: 1 });
  expect(await desk.deliver(order('1', { A: '-1' }))).toMatchObject({ outcome: 'DUPLICATE' });
  await database.archive.dropIndex('stock_chain');
  await expect(checkDatabase(database)).rejects.toThrow('index stock_chain of inventory_archive is missing');
});

const types: ReferenceType[] = ['SALE_ORDER', 'MATERIAL_TRANSFER'];
test('one ID under many types, and more entries than a page: none is passed over', async () => {
  await Promise.all([...'xyz'].map((id) => database.stock(id, '0')));
  const many = Object.fromEntries(Array.from({ length: 700 }, (_, i) => [`s${i}`, '1']));
  await database.stocks.insertMany(
    Object.keys(many).map((_id) => ({ _id, onHand: toDecimal128(new Big(0)) })),
  );
  for (const referenceType of ['SALE_ORDER', 'PURCHASE_ORDER', 'KITCHEN_TICKET_ITEM'] as const)
    await desk.deliver(order('big', many, { referenceType }));
  for (const referenceType of types)
    for (const id of ['aaa', 'big', 'zzz'])
      await desk.deliver(order(`${id}-2`, { x: '-1', y: '1' }, { referenceType }));
  await age();
  expect(await run()).toMatchObject({ documents: 9, entries: 2_112 });
  expect(await live()).toEqual([]);
  expect(await desk.deliver(order('big', many))).toMatchObject({ outcome: 'DUPLICATE' });
});
