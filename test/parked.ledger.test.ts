/** Parking and deciding in the ledger, on a real replica set: what every path answers, and what races leave. */
import { adjustStock } from '../activities/adjustStock';
import { checkTracking } from '../activities/checkTracking';
import { checkDatabase, DatabaseCheckError } from '../activities/setup';
import { moveStockWorkflowId } from '../commands';
import { registry } from '../metrics';
import { order, transfer } from './commandsFor';
import { freshDatabase, type TestDatabase } from './database';
import { createDesk, type Desk } from './desk';

let database: TestDatabase;
let desk: Desk;

beforeAll(async () => {
  database = await freshDatabase();
  desk = createDesk(database, ['MATERIAL_TRANSFER']);
});
afterAll(() => database.drop());

test('parking takes the key: entries without effect, with what was asked, outside the chain of the stock', async () => {
  await database.stock('k1', '10');
  await desk.deliver(order('K', { k1: '-2' }));
  const edited = order('K', { k1: '-3', k2: '-1' });
  expect(await desk.park(edited)).toMatchObject({ outcome: 'PARKED', case: 'CONFLICT' });
  const entries = await database.entriesOf('K');
  expect(entries.map(({ _id, attempt, line, outcome }) => [_id, attempt, line, outcome])).toEqual([
    ['SALE_ORDER/K/k1', 1, 0, 'APPLIED'],
    ['SALE_ORDER/K/k1/2', 2, 0, 'PARKED'],
    ['SALE_ORDER/K/k2/2', 2, 1, 'PARKED'],
  ]);
  expect(entries[1]).not.toHaveProperty('sequence');
  expect(entries[1]).not.toHaveProperty('onHandAfter');
  expect(entries.map((entry) => entry.delta.toString())).toEqual(['-2', '0', '0']);
  expect('asked' in entries[1]! && entries[1].asked.toString()).toBe('-3');
  await database.expectChainsHold({ k1: '10' });
});

test('every path answers a later delivery of parked content with PARKED, and a look does not apply it', async () => {
  await database.stock('p1', '1');
  const command = transfer('P', { p1: '-2' });
  const parked = await desk.park(command);
  await database.stocks.updateOne({ _id: 'p1' }, { $set: { onHand: 100 } });
  const later = desk.posting(transfer('P', { p1: '-2' }), 'another workflow');
  const answer = { outcome: 'PARKED', case: 'REFUSED', of: { workflowId: moveStockWorkflowId(command) } };
  expect(await checkTracking(database, later)).toMatchObject(answer);
  expect(await adjustStock(desk.post, later, new AbortController().signal)).toMatchObject(answer);
  // The parking activity itself, again after its answer was lost: still only parked.
  expect(await desk.park(command)).toMatchObject({
    ...answer,
    of: (parked as typeof parked & { of: object }).of,
  });
  expect(await database.onHand('p1')).toBe('100');
  expect(await database.entriesOf('P')).toHaveLength(1);
});

test('correct: one transaction posts the difference on every stock, and gives back what the document has no more', async () => {
  for (const id of ['c1', 'c2', 'c3']) await database.stock(id, '10');
  const original = order('C', { c1: '-2', c2: '-5' });
  await desk.deliver(original);
  const edited = order('C', { c1: '-3', c3: '-1' });
  await desk.park(edited);
  expect(await desk.decide(edited, 'correct', { asOf: 1 })).toMatchObject({
    outcome: 'APPLIED',
    legs: [
      { inventoryStockId: 'c1', delta: '-1', onHandAfter: '7' },
      { inventoryStockId: 'c2', delta: '5', onHandAfter: '10' },
      { inventoryStockId: 'c3', delta: '-1', onHandAfter: '9' },
    ],
    decided: { decision: 'correct', actor: 'ana', reason: 'because' },
  });
  expect((await database.entriesOf('C')).filter((entry) => entry.attempt === 3)).toMatchObject(
    Array.from({ length: 3 }, () => ({
      correctionOf: 1,
      actor: 'ana',
      reason: 'because',
      outcome: 'APPLIED',
    })),
  );
  for (const [command, outcome] of [
    [original, 'DUPLICATE'],
    [edited, 'DUPLICATE'],
    [order('C', { c1: '-9' }), 'CONFLICT'],
  ] as const) {
    expect((await desk.deliver({ ...command, source: order('', {}).source })).outcome).toBe(outcome);
  }
  await database.expectChainsHold({ c1: '10', c2: '10', c3: '10' });
});

test('correct: a correction may go below zero even where the policy refuses, and is marked', async () => {
  await database.stock('cz', '1');
  await desk.deliver(transfer('CZ', { cz: '-1' }));
  const edited = transfer('CZ', { cz: '-4' });
  await desk.park(edited);
  expect(await desk.decide(edited, 'correct')).toMatchObject({
    legs: [{ onHandAfter: '-3', belowZero: true }],
  });
});

test('correct: where another correction came in between, it parks again with fresh numbers', async () => {
  await database.stock('r1', '100');
  await desk.deliver(order('R', { r1: '-2' }));
  const b = order('R', { r1: '-3' });
  const c = order('R', { r1: '-7' });
  expect(await desk.park(b)).toMatchObject({ here: { against: { asOf: 1 } } });
  expect(await desk.park(c)).toMatchObject({ here: { against: { asOf: 1 } } });
  await desk.decide(c, 'correct', { asOf: 1 });
  expect(await desk.decide(b, 'correct', { asOf: 1 })).toMatchObject({
    outcome: 'PARKED',
    here: { against: { asOf: 4, differences: [{ recorded: '-7', asked: '-3', difference: '4' }] } },
  });
  expect(await database.onHand('r1')).toBe('93');
  expect(await desk.decide(b, 'correct', { asOf: 4 })).toMatchObject({ outcome: 'APPLIED' });
  expect(await database.onHand('r1')).toBe('97');
  await database.expectChainsHold({ r1: '100' });
});

test('correct: a stock that does not exist yet is named, and nothing is posted', async () => {
  await database.stock('m1', '10');
  await desk.deliver(order('M', { m1: '-2' }));
  const edited = order('M', { m1: '-2', m2: '-1' });
  await desk.park(edited);
  expect(await desk.decide(edited, 'correct')).toMatchObject({ here: { against: { missing: ['m2'] } } });
  await database.stock('m2', '5');
  expect(await desk.decide(edited, 'retry')).toMatchObject({ here: { against: { outcome: 'CONFLICT' } } });
  expect(await desk.decide(edited, 'correct')).toMatchObject({ outcome: 'APPLIED' });
});

test('a correction races with a new event on the same key: each run ends in one of the two orders, with sums that hold', async () => {
  const others = [createDesk(database), createDesk(database), createDesk(database)];
  for (let round = 0; round < 15; round++) {
    const [id, stock] = [`RACE-${round}`, `race-${round}`];
    await database.stock(stock, '100');
    await desk.deliver(order(id, { [stock]: '-1' }));
    const b = order(id, { [stock]: '-2' });
    await desk.park(b);
    const results = await Promise.all([
      others[0]!.decide(b, 'correct', { asOf: 1 }),
      others[1]!.park(order(id, { [stock]: '-5' })),
      others[2]!.decide(b, 'discard'),
    ]);
    // Whichever decision came first is the one that both tell.
    expect(results[0]).toMatchObject({ decided: (results[2] as { decided: object }).decided });
    expect(results[1]).toMatchObject({ outcome: 'PARKED', case: 'CONFLICT' });
    const corrected = results[0].outcome === 'APPLIED';
    expect(await database.onHand(stock)).toBe(corrected ? '98' : '99');
    const attempts = (await database.entriesOf(id)).map((entry) => entry.attempt);
    expect(attempts).toEqual([1, 2, 3, 4]);
    await database.expectChainsHold({ [stock]: '100' });
  }
});

test('promise 4: two versions of a new document without a stock in common, at the same moment: one is applied', async () => {
  const [one, other] = [createDesk(database), createDesk(database)];
  for (let round = 0; round < 30; round++) {
    const id = `V-${round}`;
    await database.stock(`${id}-a`, '10');
    await database.stock(`${id}-b`, '10');
    const results = await Promise.all([
      one.deliver(order(id, { [`${id}-a`]: '-1' })),
      other.deliver(order(id, { [`${id}-b`]: '-1' })),
    ]);
    expect(results.map((result) => result.outcome).sort()).toEqual(['APPLIED', 'CONFLICT']);
  }
});

test('force: every leg is applied in one attempt, and those below zero are marked', async () => {
  await database.stock('f1', '1');
  await database.stock('f2', '9');
  await database.stock('f3', '0');
  const command = transfer('F', { f1: '-2', f2: '-3', f3: '4' });
  expect(await desk.park(command)).toMatchObject({
    here: { against: { short: [{ inventoryStockId: 'f1', onHand: '1', wanted: '2' }] } },
  });
  expect(await desk.decide(command, 'force')).toMatchObject({
    outcome: 'APPLIED',
    legs: [
      { inventoryStockId: 'f1', onHandAfter: '-1', belowZero: true },
      { inventoryStockId: 'f2', onHandAfter: '6', belowZero: false },
      { inventoryStockId: 'f3', onHandAfter: '4', belowZero: false },
    ],
  });
  expect((await database.entriesOf('F')).map((entry) => [entry.attempt, entry.belowZero])).toEqual([
    ...Array.from({ length: 3 }, () => [1, false]),
    [2, true],
    [2, false],
    [2, false],
  ]);
  await database.expectChainsHold({ f1: '1', f2: '9', f3: '0' });
});

test('force: not on top of a version that was applied meanwhile', async () => {
  await database.stock('g1', '1');
  const big = transfer('G', { g1: '-2' });
  const small = transfer('G', { g1: '-1' });
  await desk.park(big);
  await desk.park(small);
  await desk.decide(small, 'correct');
  expect(await desk.decide(big, 'force')).toMatchObject({
    outcome: 'PARKED',
    here: { against: { outcome: 'CONFLICT', differences: [{ recorded: '-1', asked: '-2' }] } },
  });
  expect(await database.onHand('g1')).toBe('0');
});

test('a decision repeated after its answer was lost, or from another process, is recorded once', async () => {
  await database.stock('l1', '1');
  const command = transfer('L', { l1: '-2' });
  await desk.park(command);
  const first = await desk.decide(command, 'force');
  expect(await desk.decide(command, 'force')).toEqual(first);
  expect(await createDesk(database).decide(command, 'discard', { actor: 'ben' })).toEqual(first);
  expect(await database.entriesOf('L')).toHaveLength(2);
});

test('each parked and decided command is counted and logged once, with where it comes from', async () => {
  await database.stock('n1', '1');
  const command = transfer('N', { n1: '-2' });
  const before = desk.logged.length;
  await desk.park(command);
  await desk.park(command);
  await desk.decide(command, 'discard');
  await desk.decide(command, 'discard');
  const about = {
    reference: 'MATERIAL_TRANSFER/N',
    workflowId: moveStockWorkflowId(command),
    source: command.source,
  };
  // Who decided and why stands in the ledger, not in what everybody's log reader keeps.
  expect(desk.logged.slice(before)).toEqual([
    { ...about, attempt: 1, case: 'REFUSED' },
    { ...about, attempt: 2, decision: 'discard', outcome: 'REFUSED' },
  ]);
  const text = await registry.metrics();
  expect(text).toMatch(
    /inventory_worker_parked_total\{reference_type="MATERIAL_TRANSFER",case="REFUSED"\} \d/,
  );
  expect(text).toMatch(
    /inventory_worker_decided_total\{reference_type="MATERIAL_TRANSFER",decision="discard"\} \d/,
  );
});

test('an index of the chain without its condition is refused at start: two notes would claim one place', async () => {
  await database.tracking.dropIndex('stock_chain');
  try {
    await database.tracking.createIndex({ inventoryStockId: 1, sequence: 1 }, { name: 'stock_chain' });
    await expect(checkDatabase(database)).rejects.toThrow(DatabaseCheckError);
    await database.tracking.dropIndex('stock_chain');
  } finally {
    await database.connection.models['InventoryTracking']!.createIndexes();
  }
  expect(await checkDatabase(database)).toContain('indexes built');
});
