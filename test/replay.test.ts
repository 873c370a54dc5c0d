/** A replay says beforehand what it will change, and then changes exactly that. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPost } from '../activities/post';
import type { ReferenceType } from '../commands';
import { order, posting } from './commandsFor';
import { createSystem, type System } from './system';

jest.setTimeout(240_000);
let system: System;
let folder: string;
beforeEach(async () => {
  // No bridge: whatever reaches the ledger came by replay.
  system = await createSystem(2);
  folder = mkdtempSync(join(tmpdir(), 'replay-'));
  await system.database.stock('A', '100');
});
afterEach(async () => {
  await system.close();
  rmSync(folder, { recursive: true });
});

const paid = (n: number, quantity = '1', stockId = 'A') => ({
  saleOrderId: `SO-${n}-${system.name}`,
  paidAt: '2026-11-01T12:00:00Z',
  lines: [{ stockId, quantity }],
});

interface Answer {
  records: number;
  forecast: Record<string, number>;
  done?: Record<string, number>;
  differences?: string[];
  changes: { stockId: string; change: string }[];
  notes: string[];
}

async function replay(...args: string[]): Promise<{ code: number | null; answer: Answer }> {
  const { code, out, err } = await system.cli('replay', 'PAYMENT_SUCCESS', '--json', ...args);
  if (out === '') throw new Error(`exit code ${code}: ${err}`);
  return { code, answer: JSON.parse(out) as Answer };
}

/** One of each: applied before, new, repeated, edited, without a stock, at fault, asking for nothing. */
async function publishAll(): Promise<void> {
  const post = createPost(system.database, { belowZeroRefuse: new Set<ReferenceType>() });
  await post([
    posting(order(`SO-1-${system.name}`, { A: '-1' })),
    posting(order(`SO-2-${system.name}`, { A: '-2' })),
  ]);
  const events = [
    paid(1),
    paid(2, '5'),
    paid(3, '3'),
    paid(3, '3'),
    paid(4, '4'),
    paid(4, '6'),
    paid(5, '1', 'nowhere'),
  ];
  await system.publish('PAYMENT_SUCCESS', [...events, { saleOrderId: 7 }, { ...paid(8), lines: [] }], 0);
  await system.publish('PAYMENT_SUCCESS', [paid(6, '0.5'), paid(3, '3')], 1);
}

const FORECAST = {
  'already-applied': 1,
  'would-apply': 3,
  repeated: 2,
  conflict: 2,
  'unknown-stock': 1,
  undecodable: 1,
  ignored: 1,
};

test('a dry run changes nothing and forecasts everything; applied, it comes to the same', async () => {
  await publishAll();
  const checkpoint = join(folder, 'checkpoint.json');
  const out = join(folder, 'out.jsonl');
  const entries = await system.database.tracking.countDocuments();
  const dry = await replay('--out', out);
  expect(dry.code).toBe(1);
  expect(dry.answer).toMatchObject({ records: 11, changes: [{ stockId: 'A', change: '-7.5' }] });
  expect(dry.answer.forecast).toEqual(FORECAST);
  expect(await system.database.tracking.countDocuments()).toBe(entries);
  const lines = readFileSync(out, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, string>);
  expect(lines).toHaveLength(11);
  expect(lines).toContainEqual(
    expect.objectContaining({
      partition: 1,
      offset: '0',
      verdict: 'would-apply',
      reference: `SALE_ORDER SO-6-${system.name}`,
    }),
  );

  await system.start('worker');
  const applied = await replay('--apply', '--checkpoint', checkpoint);
  expect(applied.answer.differences).toEqual([]);
  expect(applied.code).toBe(0);
  // Two batches, one per partition: what stands twice in the span is in the ledger when it comes again.
  expect(Object.keys(applied.answer.done!).sort()).toEqual(Object.keys(FORECAST).sort());
  expect(await system.database.onHand('A')).toBe('89.5');
  await system.database.expectChainsHold({ A: '100' });
  expect(existsSync(checkpoint)).toBe(false);

  // Once more: nothing left that would change stock.
  const again = await replay();
  expect(again.answer.forecast).toMatchObject({ 'already-applied': 6, parked: 2 });
  expect(again.answer.changes).toEqual([]);
  // The live group has no offsets, as before.
  const admin = system.kafka.admin();
  await admin.connect();
  const [offsets] = await admin.fetchOffsets({
    groupId: system.config.KAFKA_GROUP_ID,
    topics: [`${system.name}.PAYMENT_SUCCESS`],
  });
  expect(offsets?.partitions.map(({ offset }) => offset)).toEqual(['-1', '-1']);
  await admin.disconnect();
});

test('stopped with Ctrl-C it goes on from its checkpoint, and ends with the counts of the forecast', async () => {
  await system.publish(
    'PAYMENT_SUCCESS',
    Array.from({ length: 120 }, (_, i) => paid(i)),
  );
  await system.start('worker');
  const cli = join(__dirname, '..', 'dist', 'cli.js');
  const args = ['replay', 'PAYMENT_SUCCESS', '--apply', '--rate', '20'];
  const child = spawn(process.execPath, [cli, ...args], {
    env: system.env,
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  while ((await system.database.tracking.countDocuments()) < 20)
    await new Promise((resolve) => setTimeout(resolve, 50));
  child.kill('SIGINT');
  expect(await ended).toBe(2);
  const [file] = readdirSync(folder);
  const stored = JSON.parse(readFileSync(join(folder, file!), 'utf8')) as { done: Record<string, number> };
  const part = stored.done['would-apply']!;
  expect(part).toBeGreaterThan(0);
  expect(part).toBeLessThan(120);
  // Whoever changes the words does not go on from it.
  const other = await system.cli(
    'replay',
    'PAYMENT_SUCCESS',
    '--apply',
    '--partition',
    '0',
    '--checkpoint',
    join(folder, file!),
  );
  expect([other.code, other.err]).toEqual([2, expect.stringContaining('no checkpoint of this replay')]);

  const { code, answer } = await replay('--apply', '--checkpoint', join(folder, file!));
  expect(answer).toMatchObject({ done: { 'would-apply': 120 }, differences: [], records: 120 - part });
  expect(code).toBe(0);
  expect(await system.database.onHand('A')).toBe('-20');
  await system.database.expectChainsHold({ A: '100' });
});

test('while events flow, what they applied first is said, and stock changes once', async () => {
  await system.publish(
    'PAYMENT_SUCCESS',
    Array.from({ length: 60 }, (_, i) => paid(i)),
  );
  const running = replay('--apply', '--rate', '15', '--checkpoint', join(folder, 'c'));
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await system.start('run');
  const { code, answer } = await running;
  await system.settled();
  expect(await system.database.onHand('A')).toBe('40');
  await system.database.expectChainsHold({ A: '100' });
  const sum = Object.values(answer.done!).reduce((a, b) => a + b, 0);
  expect(sum).toBe(60);
  expect(code).toBe(answer.differences!.length > 0 ? 1 : 0);
});

test.each<[string, string[], string]>([
  ['a topic that is none of ours', ['OTHER'], 'none of the event topics'],
  ['a partition that is not there', ['PAYMENT_SUCCESS', '--partition', '9'], 'has no partition 9'],
  [
    'times and offsets',
    ['PAYMENT_SUCCESS', '--from', '2026-01-01T00:00:00Z', '--partition', '0', '--offsets', '0..1'],
    'either times or offsets',
  ],
  [
    'offsets that are none',
    ['PAYMENT_SUCCESS', '--partition', '0', '--offsets', '1-2'],
    'looks like 100..200',
  ],
  ['a time without a zone', ['PAYMENT_SUCCESS', '--from', '2026-01-01T00:00:00'], 'with a zone'],
])('%s is refused', async (_, args, message) => {
  const { code, err } = await system.cli('replay', ...args);
  expect([code, err]).toEqual([2, expect.stringContaining(message)]);
});
