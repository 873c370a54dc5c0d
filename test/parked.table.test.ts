/** Walks the table of docs/parked.md: every row is carried out on a real database and must come true. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { moveStockWorkflowId, reopenedWorkflowId, type MoveStock, type MoveStockResult } from '../commands';
import { CASES, DEADLINE_ACTOR, DECISIONS, fault, type Case, type Decision, type Parked } from '../decisions';
import { order } from './commandsFor';
import { freshDatabase, type TestDatabase } from './database';
import { createDesk, type Desk } from './desk';

type Row = [kind: Case, decision: string, stock: string, written: string, result: string, again: string];

const rows = readFileSync(path.join(__dirname, '..', 'docs', 'parked.md'), 'utf8')
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .filter((cells) => cells.length === 8 && CASES.some((known) => known === cells[1]))
  .map((cells) => cells.slice(1, 7) as Row);

/** The stock before, and the quantity asked of it on top of what is recorded. */
const CONTEXT: Record<Case, { before: string; asked: string }> = {
  CONFLICT: { before: '8', asked: '-1' },
  REFUSED: { before: '1', asked: '-2' },
  UNKNOWN_STOCK: { before: '0', asked: '-2' },
};
const REFILL = 50;

let database: TestDatabase;
let desk: Desk;
beforeAll(async () => {
  database = await freshDatabase();
  desk = createDesk(database, ['MATERIAL_TRANSFER']);
});
afterAll(() => database.drop());

/** A parked command of the case on a stock of its own. */
async function parked(kind: Case, id: string): Promise<{ command: MoveStock; result: Parked }> {
  const of = { referenceType: kind === 'REFUSED' ? 'MATERIAL_TRANSFER' : 'SALE_ORDER' } as const;
  if (kind === 'REFUSED') await database.stock(id, '1');
  if (kind === 'CONFLICT') {
    await database.stock(id, '10');
    await desk.deliver(order(id, { [id]: '-2' }, of));
  }
  const command = order(id, { [id]: kind === 'CONFLICT' ? '-3' : '-2' }, of);
  const result = await desk.park(command);
  expect(result).toMatchObject({ outcome: 'PARKED', case: kind });
  return { command, result: result as Parked };
}

/** Carries out e.g. `discard, reopen after a refill`. */
async function carryOut(
  steps: string,
  command: MoveStock,
  against: Parked['here'],
): Promise<MoveStockResult | string> {
  const [plain, condition] = steps.split(' after ') as [string, string | undefined];
  const [id] = command.legs.map((leg) => leg.inventoryStockId);
  const change = async () => {
    if (condition === 'a refill') await database.stocks.updateOne({ _id: id! }, { $set: { onHand: REFILL } });
    if (condition === 'the stock came') await database.stock(id!, String(REFILL));
  };
  const [first, second] = plain.split(', ') as [string, string | undefined];
  if (second === undefined) await change();
  const decision = (first === 'deadline' ? 'discard' : first) as Decision;
  if (fault({ decision, actor: 'ana', reason: 'because' }, against!.against) !== undefined)
    return 'not possible';
  const actor = first === 'deadline' ? DEADLINE_ACTOR : 'ana';
  const result = await desk.decide(command, decision, { actor });
  if (second === undefined) return result;
  await change();
  const { attempt } = (await last(command))!;
  return desk.park(command, reopenedWorkflowId(command, attempt), { attempt, actor: 'ben', reason: 'again' });
}

const last = ({ referenceId }: MoveStock) =>
  database.tracking.findOne({ referenceId }, { sort: { attempt: -1 } });

test('the table has every case with every decision, the deadline, and reopening', () => {
  const pairs = new Set(
    rows.map(([kind, decision]) => `${kind} ${decision.split(' ')[0]!.replace(',', '')}`),
  );
  for (const kind of CASES) {
    for (const decision of [...DECISIONS, 'deadline']) expect(pairs).toContain(`${kind} ${decision}`);
    expect(rows.some(([of, decision]) => of === kind && decision.includes('reopen'))).toBe(true);
  }
});

test.each(rows)('%s, %s: stock %s, written %s, result %s, again %s', async (...row) => {
  const [kind, decision, stock, written, result, again] = row;
  const id = `${kind}-${decision}`.replaceAll(/[ ,]/g, '-');
  const { command, result: first } = await parked(kind, id);
  const before = await database.tracking.countDocuments({ referenceId: id });

  const outcome = await carryOut(decision, command, first.here);
  expect(typeof outcome === 'string' ? outcome : outcome.outcome).toBe(result);

  const entries = await database.tracking.find({ referenceId: id }).sort({ attempt: 1 }).toArray();
  const added = entries.slice(before);
  expect(added.map((entry) => entry.outcome).join(', ') || 'nothing').toBe(written);
  // Whoever decided is in the ledger.
  for (const entry of added) expect([entry.actor, entry.reason, entry.decision]).not.toContain(undefined);

  const changed = decision.includes(' after ');
  const opening = changed ? REFILL : Number(CONTEXT[kind].before);
  const moved = stock === 'unchanged' ? 0 : Number(CONTEXT[kind].asked);
  const expected = kind === 'UNKNOWN_STOCK' && !changed ? null : String(opening + moved);
  const found = await database.stocks.findOne({ _id: id });
  expect(found === null ? null : await database.onHand(id)).toBe(expected);
  expect(added.some((entry) => entry.belowZero)).toBe(stock.includes('below zero'));

  const later = await desk.deliver({ ...command, source: order('', {}).source });
  expect(later.outcome).toBe(again);
  if (later.outcome === 'PARKED' && !decision.includes('reopen')) {
    expect(later.of.workflowId).toBe(moveStockWorkflowId(command));
  }
});
