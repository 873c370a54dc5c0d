/** The audit proves what is archived as well, and archiving under traffic neither loses nor repeats anything. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Big from 'big.js';
import { archive } from '../activities/archive';
import { audit } from '../activities/audit';
import { openCheckpoint } from '../activities/auditCheckpoint';
import type { Finding } from '../activities/auditFinding';
import { toDecimal128 } from '../activities/decimals';
import { createPost } from '../activities/post';
import type { MoveStock, ReferenceType } from '../commands';
import { order, posting } from './commandsFor';
import { databaseUrl, freshDatabase, type TestDatabase } from './database';
import { createDesk } from './desk';

let database: TestDatabase;
let url: string;
beforeEach(async () => {
  url = databaseUrl();
  database = await freshDatabase(url);
});
afterEach(() => database.drop());

const LONG_AGO = new Date('2020-01-01T00:00:00Z');
const HORIZON = new Date('2021-01-01T00:00:00Z');
const FUTURE = new Date('2999-01-01T00:00:00Z');
const decimal = (text: string) => toDecimal128(new Big(text));
const transfer = (id: string, legs: Record<string, string>) =>
  order(id, legs, { referenceType: 'MATERIAL_TRANSFER' });

async function post(...commands: MoveStock[]) {
  const policy = { belowZeroRefuse: new Set<ReferenceType>() };
  const results = await createPost(database, policy)(commands.map((command) => posting(command)));
  return results.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value.outcome;
  });
}

const age = (...ids: string[]) =>
  database.tracking.updateMany(
    { outcome: { $exists: true }, ...(ids.length > 0 ? { referenceId: { $in: ids } } : {}) },
    { $set: { recordedAt: LONG_AGO } },
  );

async function audited(more: { archived?: boolean; file?: string } = {}) {
  const findings: Finding[] = [];
  const counts = await audit(database, {
    onFinding: (finding) => findings.push(finding),
    archived: more.archived === true,
    ...(more.file === undefined ? {} : { checkpoint: await openCheckpoint(more.file) }),
  });
  return { counts, findings, found: findings.map((f) => `${f.problem} ${f.key}`).sort() };
}

/** A: entries 1 to 5, of which 1 to 4 are archived; B: entry 1 is archived. */
async function archivedLedger() {
  await database.stock('A', '10');
  await database.stock('B', '0');
  await post(order('1', { A: '-1' }), order('2', { A: '-2' }), order('3', { A: '-3' }));
  await post(transfer('T', { A: '-4', B: '4' }), order('5', { A: '-5' }));
  await age('1', '2', '3', 'T');
  await archive(database, { before: HORIZON });
}

test('the audit begins at the openings; --archived reads everything again', async () => {
  await archivedLedger();
  expect(await database.openings.find().sort({ _id: 1 }).toArray()).toMatchObject([
    { _id: 'A', archived: 4, entries: 4, sequence: 4, balance: decimal('0'), sum: decimal('-10') },
    { _id: 'B', archived: 1, entries: 1, sequence: 1, balance: decimal('4'), sum: decimal('4') },
  ]);
  expect(await audited()).toMatchObject({
    found: [],
    counts: { stocks: 2, entries: 1, behindOpenings: 5, transfers: 0 },
  });
  expect(await audited({ archived: true })).toMatchObject({
    found: [],
    counts: { entries: 6, behindOpenings: 0, transfers: 1 },
  });
});

test('an opening stays before what is not archived yet, and moves on when it is', async () => {
  await database.stock('A', '10');
  await post(order('1', { A: '-1' }));
  const desk = createDesk(database);
  await desk.park(order('1', { A: '-2' }));
  await post(order('2', { A: '-2' }), order('3', { A: '-3' }));
  await age();
  await archive(database, { before: HORIZON });
  // Entry 1 waits for a decision: 2 and 3 are archived, but the chain still begins in the ledger.
  expect(await database.openings.findOne()).toMatchObject({ archived: 2, last: 3, entries: 0, sequence: 0 });
  expect(await audited()).toMatchObject({ found: [], counts: { entries: 3 } });
  await desk.decide(order('1', { A: '-2' }), 'discard');
  await age();
  await archive(database, { before: HORIZON });
  expect(await database.openings.findOne()).toMatchObject({ archived: 3, entries: 3, sequence: 3 });
  expect(await audited()).toMatchObject({ found: [], counts: { entries: 0, behindOpenings: 3 } });
});

test('an opening never passes what is not explained; a repair lets it pass', async () => {
  await database.stock('A', '10');
  await post(order('1', { A: '-1' }));
  await database.stocks.updateOne({ _id: 'A' }, { $inc: { onHand: decimal('5') } });
  await post(order('2', { A: '-2' }), order('3', { A: '-3' }));
  await database.tracking.deleteOne({ _id: 'SALE_ORDER/3/A' });
  await post(order('4', { A: '-4' }));
  const { found, findings } = await audited();
  expect(found).toEqual(['gap SALE_ORDER/4/A', 'step SALE_ORDER/2/A']);
  await age();
  await archive(database, { before: HORIZON });
  expect(await database.openings.findOne()).toMatchObject({ archived: 3, entries: 1, sequence: 1 });
  expect((await audited()).found).toEqual(found);
  for (const { repair } of findings) {
    const { delta, repairs, stockId } = repair!;
    const adjustment = { actor: 'ana', reason: 'audit', repairs };
    await post(order(delta, { [stockId]: delta }, { referenceType: 'ADJUSTMENT', adjustment }));
  }
  expect((await audited()).found).toEqual([]);
  await age();
  await archive(database, { before: HORIZON });
  expect(await database.openings.findOne()).toMatchObject({ archived: 5, entries: 5, sequence: 6 });
  expect((await audited()).found).toEqual([]);
  expect((await audited({ archived: true })).found).toEqual([]);
});

test.each<[string, () => Promise<unknown>, string[], string[]?]>([
  [
    'a balance edited in an opening',
    () => database.openings.updateOne({ _id: 'A' }, { $set: { balance: decimal('7') } }),
    ['opening A'],
  ],
  [
    'a sum edited in an opening',
    () => database.openings.updateOne({ _id: 'A' }, { $set: { sum: decimal('7') } }),
    ['opening A'],
  ],
  [
    'a sequence edited in an opening',
    () => database.openings.updateOne({ _id: 'A' }, { $set: { sequence: 3 } }),
    ['opening A'],
  ],
  ['an opening deleted', () => database.openings.deleteOne({ _id: 'A' }), ['opening A']],
  [
    'an archived entry deleted',
    () => database.archive.deleteOne({ _id: 'SALE_ORDER/2/' }),
    ['gap SALE_ORDER/3/A', 'opening A'],
  ],
  [
    'the last archived entry of a stock deleted',
    () => database.archive.deleteOne({ _id: 'MATERIAL_TRANSFER/T/1.1' }),
    ['gap B', 'opening B'],
    ['gap B', 'one-leg MATERIAL_TRANSFER T', 'opening B'],
  ],
  [
    'a quantity edited in the middle of the archive, which only --archived reads',
    () => database.archive.updateOne({ _id: 'SALE_ORDER/2/' }, { $set: { d: decimal('-9') } }),
    [],
    ['step SALE_ORDER/2/A'],
  ],
])('%s is named', async (_, damage, expected, ofAll = expected) => {
  await archivedLedger();
  await damage();
  expect((await audited()).found).toEqual(expected);
  expect((await audited({ archived: true })).found).toEqual(ofAll);
});

test('an opening that was wrong and is deleted is made anew by the next run', async () => {
  await archivedLedger();
  const before = await database.openings.find().sort({ _id: 1 }).toArray();
  await database.openings.updateOne({ _id: 'A' }, { $set: { balance: decimal('7') } });
  await archive(database, { before: HORIZON });
  expect((await audited()).found).toEqual(['opening A']);
  await database.openings.deleteOne({ _id: 'A' });
  await archive(database, { before: HORIZON });
  expect(await database.openings.find().sort({ _id: 1 }).toArray()).toEqual(before);
  expect((await audited()).found).toEqual([]);
});

test('--since reads on over what was archived since its checkpoint', async () => {
  await archivedLedger();
  const folder = mkdtempSync(join(tmpdir(), 'archive-'));
  const file = join(folder, 'checkpoint');
  try {
    expect((await audited({ file })).found).toEqual([]);
    await post(order('6', { A: '-1' }), transfer('U', { A: '-1', B: '1' }), order('7', { A: '-1' }));
    await age('5', '6', 'U');
    await archive(database, { before: HORIZON });
    expect(await audited({ file })).toMatchObject({ found: [], counts: { entries: 4, transfers: 1 } });
    expect(await audited({ file })).toMatchObject({ found: [], counts: { entries: 0, unchanged: 2 } });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('two archive runs and two audits while orders flow and are delivered again: nothing is lost, nothing counts twice', async () => {
  for (const id of ['h0', 'h1', 'h2']) await database.stock(id, '1000');
  const command = (n: number) =>
    n % 3 === 0
      ? transfer(`T${n}`, { [`h${n % 2}`]: '-1', h2: '1' })
      : order(`S${n}`, { [`h${n % 2}`]: '-1', h2: '-1' });
  const LAST = 240;
  const counts: Record<string, number> = {};
  let reached = 0;
  const traffic = async () => {
    for (let n = 0; n < LAST; n += 12) {
      // Two processes deliver the same ones at the same moment, and old ones along with them.
      const again = Array.from({ length: 6 }, () => Math.floor(Math.random() * (n + 1)));
      const batch = [...Array.from({ length: 12 }, (_, i) => n + i), ...again];
      for (const outcome of await post(...batch.map(command))) counts[outcome] = (counts[outcome] ?? 0) + 1;
      reached += 12;
    }
  };
  let flows = true;
  // Everything is old enough at once: entries leave right behind the posting that wrote them.
  const archiving = async () => {
    let moved = 0;
    while (flows) moved += (await archive(database, { before: FUTURE })).entries;
    return moved;
  };
  const audits: string[][] = [];
  const auditing = async () => {
    while (flows) audits.push((await audited({ archived: audits.length % 2 === 0 })).found);
  };
  const others = [archiving(), archiving(), auditing()];
  await Promise.all([traffic(), traffic()]);
  flows = false;
  const moved = (await Promise.all(others)).slice(0, 2) as number[];
  expect(moved[0]! + moved[1]!).toBeGreaterThan(0);
  expect(reached).toBe(2 * LAST);
  expect(audits.length).toBeGreaterThan(1);
  expect(audits.flat()).toEqual([]);

  await archive(database, { before: FUTURE });
  expect(counts).toEqual({ APPLIED: LAST, DUPLICATE: 2 * LAST });
  expect(await database.archive.countDocuments()).toBe(2 * LAST);
  expect(await database.tracking.countDocuments()).toBe(1); // The mark.
  const onHand = await Promise.all(['h0', 'h1', 'h2'].map((id) => database.onHand(id)));
  expect(onHand).toEqual(['880', '880', '920']);
  expect((await audited({ archived: true })).found).toEqual([]);
});

test('killed in the middle, stopped with Ctrl-C, and run again: it goes on, and ends with what is there', async () => {
  const cli = (...args: string[]) => {
    const child = spawn(process.execPath, [join(__dirname, '..', 'dist', 'cli.js'), 'archive', ...args], {
      env: { ...process.env, MONGO_URL: url },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (out += String(chunk)));
    const ended = new Promise<{ code: number | null; out: string }>((resolve) =>
      child.once('close', (code) => resolve({ code, out })),
    );
    return { child, ended };
  };
  await database.stock('A', '1000');
  for (let n = 0; n < 900; n += 300)
    await post(...Array.from({ length: 300 }, (_, i) => order(`${n + i}`, { A: '-1' })));
  await age();
  const before = ['--before', '2021-01-01T00:00:00Z'];
  const there = () => database.archive.countDocuments();
  const both = async () => (await there()) + (await database.tracking.countDocuments({ outcome: 'APPLIED' }));

  const killed = cli(...before, '--rate', '100');
  while ((await there()) === 0) await sleep(20);
  killed.child.kill('SIGKILL');
  await killed.ended;
  const first = await there();
  expect(first).toBeLessThan(900);
  expect(await both()).toBe(900);
  expect((await audited()).found).toEqual([]);

  const stopped = cli(...before, '--rate', '100');
  while ((await there()) === first) await sleep(20);
  stopped.child.kill('SIGINT');
  expect(await stopped.ended).toMatchObject({
    code: 2,
    out: expect.stringContaining('the same command goes on'),
  });
  expect(await both()).toBe(900);

  const left = 900 - (await there());
  const { code, out } = await cli(...before, '--json').ended;
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ entries: left, archived: 900, complete: true, openings: 1 });
  expect(await audited()).toMatchObject({ found: [], counts: { behindOpenings: 900, entries: 0 } });
  expect(await post(order('17', { A: '-1' }))).toEqual(['DUPLICATE']);

  expect(await cli('--before', new Date().toISOString()).ended).toMatchObject({
    code: 2,
    out: expect.stringContaining('must be at least an hour ago'),
  });
});
