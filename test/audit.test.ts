/** The audit names every way in which stock and ledger can come apart, and nothing else. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Big from 'big.js';
import { audit } from '../activities/audit';
import { openCheckpoint } from '../activities/auditCheckpoint';
import type { Finding } from '../activities/auditFinding';
import { inSnapshots } from '../activities/auditSnapshot';
import { toDecimal128 } from '../activities/decimals';
import { createPost } from '../activities/post';
import type { MoveStock, ReferenceType } from '../commands';
import { order, posting } from './commandsFor';
import { freshDatabase, type TestDatabase } from './database';

let database: TestDatabase;
let folder: string;
beforeEach(async () => {
  database = await freshDatabase();
  folder = mkdtempSync(join(tmpdir(), 'audit-'));
});
afterEach(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

async function post(...commands: MoveStock[]): Promise<void> {
  const policy = { belowZeroRefuse: new Set<ReferenceType>() };
  for (const posted of await createPost(database, policy)(commands.map((command) => posting(command)))) {
    if (posted.status === 'rejected') throw posted.reason;
  }
}
const transfer = (id: string, legs: Record<string, string>) =>
  order(id, legs, { referenceType: 'MATERIAL_TRANSFER' });
const decimal = (text: string) => toDecimal128(new Big(text));

async function audited(checkpointFile?: string) {
  const findings: Finding[] = [];
  const checkpoint = checkpointFile === undefined ? {} : { checkpoint: await openCheckpoint(checkpointFile) };
  const counts = await audit(database, { onFinding: (finding) => findings.push(finding), ...checkpoint });
  return { counts, found: findings.map((f) => `${f.problem} ${f.key}`).sort(), findings };
}

/** Two stocks, three orders on A (entries 1 to 3), one transfer (entry 4 of A, entry 1 of B). */
async function smallLedger() {
  await database.stock('A', '10');
  await database.stock('B', '0');
  await post(order('1', { A: '-1' }), order('2', { A: '-2' }), order('3', { A: '-3' }));
  await post(transfer('T', { A: '-4', B: '4' }));
}

test('what the worker wrote is explained; stocks without entries and stocks below zero among it', async () => {
  await smallLedger();
  await database.stock('empty', '0');
  await database.stock('B\u{10000}', '1');
  await database.stock('B\uffff', '1');
  await post(order('4', { B: '-10' }), order('5', { 'B\u{10000}': '-1', 'B\uffff': '-1' }));
  expect(await audited()).toMatchObject({
    found: [],
    counts: { stocks: 5, entries: 8, transfers: 1, findings: 0 },
  });
});

test.each<[string, () => Promise<unknown>, string[]]>([
  [
    'a stock edited by hand',
    () => database.stocks.updateOne({ _id: 'A' }, { $set: { onHand: decimal('7') } }),
    ['drift A'],
  ],
  [
    'a stock edited by hand, and events since: every later balance carries the edit',
    async () => {
      await database.stocks.updateOne({ _id: 'A' }, { $inc: { onHand: decimal('5') } });
      await post(order('6', { A: '-1' }), order('7', { A: '-1' }));
    },
    ['step SALE_ORDER/6/A'],
  ],
  ['an entry deleted', () => database.tracking.deleteOne({ _id: 'SALE_ORDER/2/A' }), ['gap SALE_ORDER/3/A']],
  [
    'the first entry deleted',
    () => database.tracking.deleteOne({ _id: 'SALE_ORDER/1/A' }),
    ['gap SALE_ORDER/2/A'],
  ],
  [
    'a leg of a transfer removed, the last entry of its stock',
    () => database.tracking.deleteOne({ _id: 'MATERIAL_TRANSFER/T/A' }),
    ['gap A', 'one-leg MATERIAL_TRANSFER T'],
  ],
  [
    'a transfer whose legs do not sum to zero',
    () => database.tracking.updateOne({ _id: 'MATERIAL_TRANSFER/T/B' }, { $set: { delta: decimal('5') } }),
    // Its first entry: the opening before it moves along, and nothing else shows.
    ['unbalanced MATERIAL_TRANSFER T'],
  ],
  [
    'a quantity changed in the middle',
    () => database.tracking.updateOne({ _id: 'SALE_ORDER/2/A' }, { $set: { delta: decimal('-9') } }),
    ['step SALE_ORDER/2/A'],
  ],
  [
    'a quantity that is no number',
    () => database.tracking.updateOne({ _id: 'SALE_ORDER/2/A' }, { $set: { delta: 'two' } as never }),
    ['step SALE_ORDER/3/A', 'unreadable SALE_ORDER/2/A'],
  ],
  [
    'an on hand that is no number',
    () => database.stocks.updateOne({ _id: 'A' }, { $set: { onHand: 'zero' } as never }),
    ['unreadable A'],
  ],
  ['a stock deleted', () => database.stocks.deleteOne({ _id: 'A' }), ['no-stock A']],
  [
    'a sequence set back',
    () => database.stocks.updateOne({ _id: 'A' }, { $set: { sequence: 2 } }),
    ['sequence-behind A'],
  ],
  [
    'all entries of a stock deleted',
    () => database.tracking.deleteMany({ inventoryStockId: 'A' }),
    ['gap A', 'one-leg MATERIAL_TRANSFER T'],
  ],
  [
    'a mark of below zero removed',
    async () => {
      await post(order('8', { B: '-10' }));
      await database.tracking.updateOne({ _id: 'SALE_ORDER/8/B' }, { $set: { belowZero: false } });
    },
    ['unmarked B', 'unmarked SALE_ORDER/8/B'],
  ],
  [
    'an entry taken out of its chain',
    () => database.tracking.updateOne({ _id: 'SALE_ORDER/2/A' }, { $set: { sequence: 'x' } as never }),
    ['gap SALE_ORDER/3/A', 'no-place SALE_ORDER/2/A'],
  ],
])('%s is named', async (_, damage, expected) => {
  await smallLedger();
  expect((await audited()).found).toEqual([]);
  await damage();
  expect((await audited()).found).toEqual(expected);
});

test('two entries that claim one place are named, where the unique index was dropped', async () => {
  await smallLedger();
  await database.tracking.dropIndex('stock_chain');
  await database.tracking.createIndex({ inventoryStockId: 1, sequence: 1 }, { name: 'stock_chain' });
  await database.tracking.updateOne({ _id: 'SALE_ORDER/3/A' }, { $set: { sequence: 2 } });
  const { found } = await audited();
  expect(found).toContain('fork SALE_ORDER/3/A');
  expect(found).toContain('gap MATERIAL_TRANSFER/T/A');
});

test('under traffic the audit raises no false alarm', async () => {
  for (const id of ['h0', 'h1', 'h2']) await database.stock(id, '100000');
  let posted = 0;
  let stop = false;
  const traffic = (async () => {
    while (!stop) {
      const batch = Array.from({ length: 20 }, () => posted++);
      await post(
        ...batch.map((n) =>
          n % 4 === 0
            ? transfer(`T${n}`, { [`h${n % 3}`]: '-1', [`h${(n + 1) % 3}`]: '1' })
            : order(`S${n}`, { [`h${n % 3}`]: '-1' }),
        ),
      );
    }
  })();
  const before = posted;
  const counts: number[] = [];
  for (let i = 0; i < 12; i++) {
    const { found, counts: now } = await audited();
    expect(found).toEqual([]);
    counts.push(now.entries);
  }
  stop = true;
  await traffic;
  // Traffic really ran meanwhile.
  expect(posted).toBeGreaterThan(before);
  expect(counts.at(-1)).toBeGreaterThan(counts[0]!);
});

test('a long audit goes on in fresh snapshots and misses nothing in between', async () => {
  await smallLedger();
  const seen: (string | undefined)[] = [];
  await inSnapshots<string>(
    database,
    async (session, from, isOld) => {
      seen.push(from);
      await database.stocks.findOne({}, { session });
      while (!isOld()) await new Promise((resolve) => setTimeout(resolve, 1));
      return from === undefined ? 'A' : from === 'A' ? 'B' : undefined;
    },
    2,
  );
  expect(seen).toEqual([undefined, 'A', 'B']);
});

test('--since reads only entries of stocks that moved, and finds what a full audit would find in them', async () => {
  await smallLedger();
  await database.stock('quiet', '5');
  await post(order('q', { quiet: '-1' }));
  const file = join(folder, 'checkpoint');
  expect((await audited(file)).counts).toMatchObject({ entries: 6, unchanged: 0 });
  expect((await audited(file)).counts).toMatchObject({ stocks: 3, entries: 0, unchanged: 3 });

  await database.stock('new', '1');
  await post(order('9', { A: '-1', new: '-1' }), transfer('U', { A: '-1', B: '1' }));
  expect(await audited(file)).toMatchObject({
    found: [],
    counts: { stocks: 4, entries: 4, unchanged: 1, transfers: 1 },
  });

  await post(transfer('V', { A: '-1', B: '1' }));
  await database.tracking.deleteOne({ _id: 'MATERIAL_TRANSFER/V/A' });
  await database.stocks.updateOne({ _id: 'quiet' }, { $inc: { onHand: decimal('1') } });
  const expected = ['drift quiet', 'gap A', 'one-leg MATERIAL_TRANSFER V'];
  expect((await audited(file)).found).toEqual(expected);
  // What is not repaired is found again.
  expect((await audited(file)).found).toEqual(['drift quiet', 'gap A']);
});

test('a file that is no checkpoint is refused and left alone', async () => {
  const file = join(folder, 'other');
  writeFileSync(file, 'important\n');
  await expect(openCheckpoint(file)).rejects.toThrow('no checkpoint of an audit');
  expect(readFileSync(file, 'utf8')).toBe('important\n');
});
