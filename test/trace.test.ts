/** "Why is this stock at 7?" and "what happened to this order?", asked of the real program. */
import type { StockTrace, TracedEntry } from '../activities/trace';
import { createSystem, type System } from './system';

jest.setTimeout(120_000);
let system: System;
beforeAll(async () => {
  system = await createSystem();
  await system.database.stock('A', '100');
  await system.database.stock('B', '0');
  await system.start('run');
  await system.publish('PAYMENT_SUCCESS', [paid(1, '2'), paid(2, '3'), paid(1, '2')]);
  // Versions of one document that come together are judged in any order; here the edited one comes later.
  await entries(2);
  await system.publish('PAYMENT_SUCCESS', [paid(1, '5')]);
  await system.publish('MATERIAL_TRANSFERRED', [
    { transferId: `T-${system.name}`, fromStockId: 'A', toStockId: 'B', quantity: '5' },
  ]);
  const received = {
    purchaseOrderId: `PO-${system.name}`,
    receivedAt: '2026-11-01T12:00:00Z',
    lines: [{ stockId: 'B', quantity: '1' }],
  };
  await system.publish('PURCHASE_ORDER_RECEIVED', [
    { ...received, receiptId: 'R-1' },
    { ...received, receiptId: 'R-2' },
  ]);
  await entries(7);
});
afterAll(() => system.close());

async function entries(count: number): Promise<void> {
  while ((await system.database.tracking.countDocuments({})) < count)
    await new Promise((resolve) => setTimeout(resolve, 100));
}

const paid = (id: number, quantity: string) => ({
  saleOrderId: `SO-${id}-${system.name}`,
  paidAt: '2026-11-01T12:00:00Z',
  lines: [{ stockId: 'A', quantity }],
});
/** What `--json` prints, as far as it is looked at here. */
interface Answer {
  code: number | null;
  stock: StockTrace;
  entries: TracedEntry[];
  workflows: { status: string; outcome?: string }[];
  hits: object[];
}

const json = async (...args: string[]): Promise<Answer> => {
  const { code, out, err } = await system.cli('trace', '--json', ...args);
  expect(err).toBe('');
  return { ...(JSON.parse(out) as Answer), code };
};

test('a stock: opening, every entry with its balance, source and workflow, and what still waits on it', async () => {
  const { code, stock, workflows } = await json('A');
  expect(code).toBe(0);
  expect(stock).toMatchObject({ onHand: '90', opening: '100', sequence: 3 });
  expect(stock.entries.map((e) => [e.sequence, e.delta]).length).toBe(3);
  expect(stock.entries.at(-1)!.onHandAfter).toBe('90');
  expect(stock.entries[0]!.source.topic).toContain(system.name);
  // The edited order is parked and names this stock.
  expect(workflows).toContainEqual(
    expect.objectContaining({ status: 'RUNNING', outcome: 'PARKED/CONFLICT' }),
  );
  const text = await system.cli('trace', 'A');
  expect(text.out).toContain('stock A: on hand 90, opened at 100, 3 entries');
  expect(text.out).toContain(`${system.config.TEMPORAL_UI_URL}/namespaces/default/workflows/`);
  // Not a terminal: no colours.
  expect(text.out).not.toContain('\u001b');
});

test('pages and --since', async () => {
  const last = await json('A', '--limit', '1');
  expect(last.stock.entries.map((e) => e.sequence)).toEqual([3]);
  const before = await json('A', '--limit', '1', '--before', String(last.stock.before));
  expect(before.stock.entries.map((e) => e.sequence)).toEqual([2]);
  const after = await json('A', '--limit', '1', '--after', '1');
  expect(after.stock).toMatchObject({ entries: [{ sequence: 2 }], after: 2 });
  expect((await json('A', '--since', '2999-01-01T00:00:00Z')).stock.entries).toEqual([]);
  expect((await json('A', '--since', '2020-01-01T00:00:00Z')).stock.entries).toHaveLength(3);
});

test('an order: its legs, and the edited delivery that waits for a person', async () => {
  const reference = `SALE_ORDER/SO-1-${system.name}`;
  const { code, entries, workflows } = await json(reference);
  expect(code).toBe(0);
  expect(entries).toMatchObject([
    { attempt: 1, outcome: 'APPLIED', delta: '-2', inventoryStockId: 'A' },
    { attempt: 2, outcome: 'PARKED', delta: '0', asked: '-5', case: 'CONFLICT' },
  ]);
  expect(workflows.map((w) => w.status).sort()).toEqual(['COMPLETED', 'RUNNING']);
  // Its bare ID finds the same.
  expect((await json(`SO-1-${system.name}`)).entries).toEqual(entries);
  expect((await system.cli('trace', reference)).out).toContain('(-5)');
});

test('a purchase order shows its receipts', async () => {
  const { entries } = await json(`PO-${system.name}`);
  expect(entries.map((e) => e.referenceId)).toEqual([`PO-${system.name}#R-1`, `PO-${system.name}#R-2`]);
});

test('what nobody knows: exit code 1, and --search-topic says whether a topic still holds it', async () => {
  expect(await json('nothing')).toMatchObject({ code: 1, entries: [], workflows: [] });
  // In the topic, but the ledger has lost it.
  const id = `SO-2-${system.name}`;
  await system.database.tracking.deleteOne({ referenceId: id });
  const { code, hits, entries } = await json(id, '--search-topic');
  expect([code, entries]).toEqual([0, []]);
  expect(hits).toMatchObject([{ topic: `${system.name}.PAYMENT_SUCCESS`, offset: '1', became: 'command' }]);
  const none = await system.cli('trace', 'nothing', '--search-topic');
  expect(none.code).toBe(1);
  expect(none.out).toContain('no topic holds an event of it any more');
});

test('without Temporal the ledger still answers; without MongoDB it could not run', async () => {
  const lonely = await createSystemWithout(system, { TEMPORAL_ADDRESS: '127.0.0.1:1' });
  expect(lonely.code).toBe(0);
  expect(lonely.out).toContain('Temporal was not asked');
  const blind = await createSystemWithout(system, {
    MONGO_URL: 'mongodb://127.0.0.1:1/x?serverSelectionTimeoutMS=100',
  });
  expect(blind.code).toBe(2);
  expect(blind.err).toContain('MongoDB does not answer');
  const wrong = await system.cli('trace', 'A', '--since', 'yesterday');
  expect(wrong.code).toBe(2);
});

async function createSystemWithout(from: System, env: Record<string, string>) {
  const saved = { ...from.env };
  Object.assign(from.env, env);
  const result = await from.cli('trace', 'A');
  Object.assign(from.env, saved);
  return result;
}
