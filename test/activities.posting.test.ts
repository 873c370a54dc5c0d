import Big from 'big.js';
import fc from 'fast-check';
import { checkTracking } from '../activities/checkTracking';
import { toDecimal128 } from '../activities/decimals';
import { BrokenStockError, type Posting } from '../activities/judge';
import { BrokenLedgerError, createPost, type Posted } from '../activities/post';
import type { MoveStockResult, ReferenceType } from '../commands';
import { order, posting } from './commandsFor';
import { freshDatabase, type TestDatabase } from './database';

const factsOnly = { belowZeroRefuse: new Set<ReferenceType>() };
let database: TestDatabase;

beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

/** Results of a posting function; a broken stock throws. */
const results = (posted: Posted[]) =>
  posted.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
const post = async (...postings: Posting[]) => results(await createPost(database, factsOnly)(postings));
const one = async (p: Posting) => (await post(p))[0]!;

test('promise 1: a delivery repeated any number of times, at any age, changes stock once', async () => {
  await database.stock('p1', '10');
  const command = order('P1', { p1: '-2' });
  const first = await one(posting(command));
  expect(first).toMatchObject({
    outcome: 'APPLIED',
    legs: [{ delta: '-2', onHandAfter: '8', belowZero: false }],
  });
  for (let i = 0; i < 5; i++) {
    const later = order('P1', { p1: '-2' });
    expect(await one(posting(later))).toMatchObject({ outcome: 'DUPLICATE', of: { source: command.source } });
  }
  await database.expectChainsHold({ p1: '10' });
  expect(await database.onHand('p1')).toBe('8');
});

test('promise 1: 20 deliveries at once, from processes that know nothing of each other, change stock once', async () => {
  await database.stock('p1b', '10');
  const results = await Promise.all(
    Array.from({ length: 20 }, () => one(posting(order('P1b', { p1b: '-3' })))),
  );
  expect(results.filter((r) => r.outcome === 'APPLIED')).toHaveLength(1);
  expect(results.filter((r) => r.outcome === 'DUPLICATE')).toHaveLength(19);
  expect(await database.onHand('p1b')).toBe('7');
});

test('promise 2: all legs happen or none does', async () => {
  await database.stock('p2-from', '10');
  const transfer = order('P2', { 'p2-from': '-4', 'p2-to': '4' }, { referenceType: 'MATERIAL_TRANSFER' });
  expect(await one(posting(transfer))).toMatchObject({ outcome: 'UNKNOWN_STOCK', missing: ['p2-to'] });
  expect(await database.onHand('p2-from')).toBe('10');
  await database.stock('p2-to', '0');
  expect((await one(posting(transfer))).outcome).toBe('APPLIED');
  expect([await database.onHand('p2-from'), await database.onHand('p2-to')]).toEqual(['6', '4']);
});

test('promise 2: a crash between entries and stocks leaves neither', async () => {
  await database.stock('p2c', '10');
  const crashing = Object.create(database.stocks) as typeof database.stocks;
  let reached = false;
  crashing.bulkWrite = () => {
    reached = true;
    return Promise.reject(new Error('the process dies here'));
  };
  const dying = createPost({ ...database, stocks: crashing }, factsOnly);
  const [posted] = await dying([posting(order('P2c', { p2c: '-1' }))]);
  expect(String((posted as PromiseRejectedResult).reason)).toContain('dies here');
  expect(reached).toBe(true);
  expect(await database.chain('p2c')).toEqual([]);
  expect((await one(posting(order('P2c', { p2c: '-1' })))).outcome).toBe('APPLIED');
});

test('promise 4: the same key with another quantity is a CONFLICT, spelled out, and applies nothing', async () => {
  await database.stock('p4a', '10');
  await database.stock('p4b', '10');
  await one(posting(order('P4', { p4a: '-2', p4b: '-1' })));
  const edited = posting(order('P4', { p4a: '-3', p4b: '-1' }));
  const conflict = await one(edited);
  expect(conflict).toMatchObject({
    outcome: 'CONFLICT',
    differences: [{ inventoryStockId: 'p4a', recorded: '-2', asked: '-3', difference: '-1' }],
  });
  expect(await checkTracking(database, edited)).toEqual(conflict);
  expect([await database.onHand('p4a'), await database.onHand('p4b')]).toEqual(['8', '9']);
});

test.each<[string, Record<string, string>, string[]]>([
  ['a line more', { p4x: '-2', p4y: '-1' }, ['p4y']],
  ['other stocks', { p4y: '-2' }, ['p4x', 'p4y']],
])(
  'promise 4: an edited document with %s is a CONFLICT, not a second document',
  async (name, legs, differing) => {
    if (name === 'a line more') {
      await database.stock('p4x', '10');
      await database.stock('p4y', '10');
      await one(posting(order('P4x', { p4x: '-2' })));
    }
    const result = await one(posting(order('P4x', legs)));
    expect(result.outcome).toBe('CONFLICT');
    expect(
      (result as MoveStockResult & { outcome: 'CONFLICT' }).differences.map((d) => d.inventoryStockId),
    ).toEqual(differing);
    expect(await database.onHand('p4y')).toBe('10');
  },
);

test('promise 5: a commit whose answer was lost is resolved by the ledger, balance included', async () => {
  await database.stock('p5', '10');
  const lost = posting(order('P5', { p5: '-2' }), 'the run');
  const first = await one(lost);
  await one(posting(order('P5-other', { p5: '-1' })));
  expect(await one(lost)).toEqual(first);
  expect(await checkTracking(database, lost)).toEqual(first);
  const redelivered = posting(
    { ...lost.command, source: { ...lost.command.source, offset: '999' } },
    'the run',
  );
  expect((await one(redelivered)).outcome).toBe('DUPLICATE');
});

test('promise 7: quantities are exact: ten tenths are one, and big stays exact beside small', async () => {
  await database.stock('p7', '0');
  for (let i = 0; i < 10; i++) await one(posting(order(`P7-${i}`, { p7: '0.1' })));
  expect(await database.onHand('p7')).toBe('1');
  await one(posting(order('P7-big', { p7: '999999999999999' })));
  await one(posting(order('P7-small', { p7: '0.000001' })));
  expect(await database.onHand('p7')).toBe('1000000000000000.000001');
  await database.expectChainsHold({ p7: '0' });
});

test('promise 8: 200 concurrent orders on one hot stock leave an unbroken chain', async () => {
  await database.stock('hot', '1000');
  const share = createPost(database, factsOnly);
  const other = createPost(database, factsOnly);
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      (i % 2 ? share : other)([posting(order(`HOT-${i}`, { hot: '-1.5' }))]),
    ),
  );
  expect(results(answers.flat()).every((result) => result.outcome === 'APPLIED')).toBe(true);
  expect(await database.chain('hot')).toHaveLength(200);
  await database.expectChainsHold({ hot: '1000' });
  expect(await database.onHand('hot')).toBe('700');
});

test('promise 8: any list of commands, cut into any groups and repeated, gives the same stock', async () => {
  const commandOf = fc.record({
    id: fc.integer({ min: 0, max: 12 }),
    stock: fc.constantFrom('x', 'y', 'z'),
    amount: fc.integer({ min: 1, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(commandOf, { minLength: 1, maxLength: 6 }), { maxLength: 6 }),
      async (groups) => {
        await database.stocks.deleteMany({ _id: { $in: ['x', 'y', 'z'] } });
        await database.tracking.deleteMany({ inventoryStockId: { $in: ['x', 'y', 'z'] } });
        for (const id of ['x', 'y', 'z']) await database.stock(id, '5');
        const expected: Record<string, Big> = { x: new Big(5), y: new Big(5), z: new Big(5) };
        const seen = new Map<number, string>();
        for (const group of groups) {
          const results = await post(
            ...group.map((c) => posting(order(`G-${c.id}`, { [c.stock]: `-${c.amount}` }))),
          );
          group.forEach((c, i) => {
            const known = seen.get(c.id);
            const content = `${c.stock}${c.amount}`;
            expect(results[i]!.outcome).toBe(
              known === undefined ? 'APPLIED' : known === content ? 'DUPLICATE' : 'CONFLICT',
            );
            if (known === undefined) {
              seen.set(c.id, content);
              expected[c.stock] = expected[c.stock]!.minus(c.amount);
            }
          });
        }
        for (const id of ['x', 'y', 'z']) expect(await database.onHand(id)).toBe(expected[id]!.toFixed());
        await database.expectChainsHold({ x: '5', y: '5', z: '5' });
      },
    ),
    { numRuns: 25 },
  );
});

test('promise 10: no id can carry a query operator into MongoDB, and none is taken for another', async () => {
  const ids = ['$where', '{"$gt":""}', '__proto__', 'constructor', 'a/b', 'a%2Fb', '🍕', 'é', 'e\u0301'];
  for (const id of ids) await database.stock(id, '10');
  for (const id of ids) expect((await one(posting(order(id, { [id]: '-1' })))).outcome).toBe('APPLIED');
  for (const id of ids) expect([id, await database.onHand(id)]).toEqual([id, '9']);
});

describe('below zero', () => {
  test('a fact is applied and its entry marked', async () => {
    await database.stock('bz', '1');
    expect(await one(posting(order('BZ', { bz: '-2' })))).toMatchObject({
      legs: [{ onHandAfter: '-1', belowZero: true }],
    });
    expect(await database.tracking.findOne({ referenceId: 'BZ' })).toMatchObject({ belowZero: true });
  });

  test('under policy refuse, all short legs are named and nothing is applied', async () => {
    await database.stock('r1', '1');
    await database.stock('r2', '2');
    await database.stock('r3', '9');
    const refusing = createPost(database, { belowZeroRefuse: new Set<ReferenceType>(['SALE_ORDER']) });
    const [result] = results(await refusing([posting(order('R', { r1: '-2', r2: '-3', r3: '-1' }))]));
    expect(result).toEqual({
      outcome: 'REFUSED',
      short: [
        { inventoryStockId: 'r1', onHand: '1', wanted: '2' },
        { inventoryStockId: 'r2', onHand: '2', wanted: '3' },
      ],
    });
    expect(await database.onHand('r3')).toBe('9');
  });
});

describe('stock documents brought in from elsewhere', () => {
  test.each([
    ['an int', 5, '4.9'],
    ['a double', 0.1 + 0.2, '0.2'],
    ['a decimal', toDecimal128(new Big('5.5')), '5.4'],
    ['a long', 5n, '4.9'],
  ])('%s as onHand works, and the entry says what MongoDB stores', async (name, onHand, after) => {
    const id = `else-${name}`;
    await database.stocks.insertOne({ _id: id, onHand });
    expect(await one(posting(order(id, { [id]: '-0.1' })))).toMatchObject({ legs: [{ onHandAfter: after }] });
    expect(await database.onHand(id)).toBe(after);
  });

  test('a broken onHand is named, and stops only the commands on its stock', async () => {
    await database.stocks.insertOne({ _id: 'broken', onHand: 'five' as unknown as number });
    await database.stock('sound', '5');
    const share = createPost(database, factsOnly);
    const [sound, broken, sound2] = await Promise.all([
      share([posting(order('OK-1', { sound: '-1' }))]),
      share([posting(order('BAD', { broken: '-1' }))]),
      share([posting(order('OK-2', { sound: '-1' }))]),
    ]);
    expect([sound, sound2].map(([posted]) => posted!.status)).toEqual(['fulfilled', 'fulfilled']);
    const { reason } = broken[0] as PromiseRejectedResult;
    expect(reason).toBeInstanceOf(BrokenStockError);
    expect(String(reason)).toContain('stock "broken"');
    expect(await database.onHand('sound')).toBe('3');
  });

  test('a stock deleted and made again goes on after its last entry', async () => {
    await database.stock('again', '5');
    await one(posting(order('AG-1', { again: '-1' })));
    await database.stocks.deleteOne({ _id: 'again' });
    await database.stock('again', '50');
    await one(posting(order('AG-2', { again: '-1' })));
    expect(await database.chain('again')).toEqual([
      [1, '-1', '4'],
      [2, '-1', '49'],
    ]);
  });

  test('a sequence set back by hand is an error that names entry and remedy, not a second entry', async () => {
    await database.stock('back', '5');
    await one(posting(order('BK-1', { back: '-1' })));
    await database.stocks.updateOne({ _id: 'back' }, { $set: { sequence: 0 } });
    await expect(one(posting(order('BK-2', { back: '-1' })))).rejects.toThrow(BrokenLedgerError);
    expect(await database.onHand('back')).toBe('4');
  });
});
