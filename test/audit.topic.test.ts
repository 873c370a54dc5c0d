/** Topic and ledger agree, or the record or entry that does not is named. */
import { createSystem, type System } from './system';

jest.setTimeout(240_000);
let system: System;
beforeEach(async () => {
  system = await createSystem(2);
  await system.database.stock('A', '100');
});
afterEach(() => system.close());

const paid = (n: number, quantity = '1', stockId = 'A') => ({
  saleOrderId: `SO-${n}-${system.name}`,
  paidAt: '2026-11-01T12:00:00Z',
  lines: [{ stockId, quantity }],
});

async function audited(...args: string[]) {
  const { code, out, err } = await system.cli('audit', '--json', '--topic', 'PAYMENT_SUCCESS', ...args);
  if (out === '') throw new Error(`exit code ${code}: ${err}`);
  const { topic, list } = JSON.parse(out) as {
    topic: { records: number; counts: Record<string, number>; entries: number };
    list: { problem: string; key: string }[];
  };
  return { code, ...topic, found: list.map(({ problem, key }) => `${problem} ${key}`).sort() };
}

test('every record is in the ledger or stated; a lost entry and a foreign one are named', async () => {
  const topic = `${system.name}.PAYMENT_SUCCESS`;
  await system.publish(
    'PAYMENT_SUCCESS',
    [paid(1), paid(1), paid(2), paid(2, '5'), { saleOrderId: 7 }, { ...paid(8), lines: [] }],
    0,
  );
  await system.publish('PAYMENT_SUCCESS', [paid(3), paid(4, '1', 'nowhere')], 1);
  // Nobody has read a record yet: nothing is missing.
  expect(await audited()).toMatchObject({ code: 0, found: [], counts: { 'under-way': 7, ignored: 1 } });

  await system.start('run');
  // 3 applied, 1 parked; the order of an unknown stock waits, which is under way.
  while ((await system.database.tracking.countDocuments()) < 4)
    await new Promise((resolve) => setTimeout(resolve, 100));
  expect(await audited()).toMatchObject({
    code: 0,
    found: [],
    records: 8,
    entries: 4,
    counts: { 'already-applied': 4, parked: 1, ignored: 1, undecodable: 1, 'under-way': 1 },
  });

  const lost = await system.database.tracking.findOne({ referenceId: `SO-3-${system.name}` });
  await system.database.tracking.deleteOne({ _id: lost!._id });
  await system.database.tracking.updateOne(
    { referenceId: `SO-1-${system.name}` },
    { $set: { 'source.offset': 4n } as never },
  );
  const { code, found } = await audited();
  expect(code).toBe(1);
  expect(found.filter((text) => !text.startsWith('gap'))).toEqual([
    `no-record SALE_ORDER/SO-1-${system.name}/A`,
    `not-in-ledger ${topic}[1]@0`,
  ]);
  // Only what the span holds.
  expect(
    (await audited('--partition', '0', '--offsets', '2..4')).found.filter((text) => !text.startsWith('gap')),
  ).toEqual([]);
  const text = await system.cli('audit', '--topic', 'PAYMENT_SUCCESS', '--partition', '1');
  expect(text.out).toContain(
    `SALE_ORDER SO-3-${system.name} is neither in the ledger nor parked (would-apply), its workflow is COMPLETED; replay applies it`,
  );
});

test('while events flow, nothing is called missing that is only on its way', async () => {
  await system.start('run');
  const publishing = (async () => {
    for (let i = 0; i < 30; i++) {
      await system.publish(
        'PAYMENT_SUCCESS',
        Array.from({ length: 10 }, (_, n) => paid(i * 10 + n)),
        i % 2,
      );
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  const seen: number[] = [];
  for (let i = 0; i < 3; i++) {
    const { found, records } = await audited();
    expect(found).toEqual([]);
    seen.push(records);
  }
  await publishing;
  expect(seen.some((records) => records > 0)).toBe(true);
});
