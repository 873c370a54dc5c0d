/** The ledger from outside: prepared, watched while a contender fills it, and checked afterwards. */
import Big from 'big.js';
import { setupDatabase } from '../../activities/setup';
import { connectDatabase, IN_CHAIN, type Database, type EffectEntry } from '../../activities/models';
import { toDecimal128 } from '../../activities/decimals';
import type { BenchEvent, Workload } from './workloads';
import { OPENING } from './workloads';

/** An empty database with the collections and indexes of `inventory setup`, for ours and for everybody else. */
export async function freshLedger(url: string): Promise<Database> {
  const database = await connectDatabase(url);
  await database.connection.dropDatabase();
  await setupDatabase(database);
  return database;
}

export async function addStocks(database: Database, stocks: readonly string[]): Promise<void> {
  const onHand = toDecimal128(new Big(OPENING));
  await database.stocks.insertMany(stocks.map((_id) => ({ _id, onHand, sequence: 0 })));
}

/** Fills the ledger with `count` entries of 500 other stocks, each chain unbroken. */
export async function fillLedger(database: Database, count: number): Promise<void> {
  const stocks = Array.from({ length: 500 }, (_, index) => `old-stock-${index}`);
  await addStocks(database, stocks);
  const delta = toDecimal128(new Big(-1));
  for (let from = 0; from < count; from += 5_000) {
    const entries = Array.from({ length: Math.min(5_000, count - from) }, (_, offset) => {
      const index = from + offset;
      const sequence = Math.floor(index / stocks.length) + 1;
      const inventoryStockId = stocks[index % stocks.length]!;
      return {
        _id: `SALE_ORDER/old-${index}/${inventoryStockId}`,
        referenceType: 'SALE_ORDER' as const,
        referenceId: `old-${index}`,
        inventoryStockId,
        attempt: 1,
        line: 0,
        delta,
        onHandAfter: toDecimal128(new Big(OPENING).minus(sequence)),
        sequence,
        outcome: 'APPLIED' as const,
        belowZero: false,
        occurredAt: new Date(),
        recordedAt: new Date(),
        workflowId: `SALE_ORDER/old-${index}`,
        runId: 'filled',
      };
    });
    await database.tracking.insertMany(entries as never, { ordered: false });
  }
}

/** Entries so far, counted. */
export function entryCount(database: Database): Promise<number> {
  return database.tracking.countDocuments({}, { hint: '_id_' });
}

/**
 * Whether there are as many entries. The collection's own count costs the server next to nothing, but holds what
 * open transactions have inserted; so it is asked first, and only what it says to be complete is counted.
 */
export async function hasEntries(database: Database, wanted: number): Promise<boolean> {
  if ((await database.tracking.estimatedDocumentCount()) < wanted) return false;
  return (await entryCount(database)) >= wanted;
}

/** Bytes of all entries as BSON, before compression, and of the indexes on disk after a checkpoint. */
export async function ledgerBytes(database: Database): Promise<{ entries: number; indexes: number }> {
  await database.connection.getClient().db('admin').command({ fsync: 1 });
  const stats = await database.connection.db!.command({ collStats: 'inventory_tracking' });
  return { entries: Number(stats['size']), indexes: Number(stats['totalIndexSize']) };
}

/** Each reference once, whatever was delivered how often. */
export function uniqueEvents(workload: Workload): BenchEvent[] {
  const byReference = new Map<string, BenchEvent>();
  for (const event of [...workload.before, ...workload.events]) byReference.set(event.referenceId, event);
  return [...byReference.values()];
}

/**
 * The sums: every event has had its effect exactly once, opening plus entries is what is on hand, and each stock's
 * chain of entries is unbroken.
 * @returns what is wrong, `undefined` when all is well
 */
export async function checkLedger(database: Database, workload: Workload): Promise<string | undefined> {
  const expected = new Map<string, string>();
  for (const event of uniqueEvents(workload)) {
    for (const leg of event.legs) expected.set(`${event.referenceId} ${leg.stockId}`, leg.delta);
  }
  const chains = new Map(workload.stocks.map((stock) => [stock, { sequence: 0, balance: new Big(OPENING) }]));
  const entries = database.tracking
    .find<EffectEntry>({ inventoryStockId: { $in: workload.stocks }, ...IN_CHAIN })
    .sort({ inventoryStockId: 1, sequence: 1 });
  for await (const entry of entries) {
    const key = `${entry.referenceId} ${entry.inventoryStockId}`;
    const delta = expected.get(key);
    if (delta === undefined) return `${key} stands in the ledger twice, or was never asked for`;
    if (!new Big(delta).eq(entry.delta.toString()))
      return `${key} is ${String(entry.delta)}, asked was ${delta}`;
    expected.delete(key);
    const chain = chains.get(entry.inventoryStockId)!;
    chain.sequence += 1;
    chain.balance = chain.balance.plus(delta);
    if (Number(entry.sequence) !== chain.sequence)
      return `${entry.inventoryStockId}: chain broken at ${chain.sequence}`;
    if (!chain.balance.eq(entry.onHandAfter.toString()))
      return `${key}: balance is ${String(entry.onHandAfter)}`;
  }
  if (expected.size > 0) return `${expected.size} legs are missing, ${[...expected.keys()][0]} among them`;
  const stocks = await database.stocks.find({ _id: { $in: workload.stocks } }).toArray();
  for (const { _id, onHand } of stocks) {
    const { balance } = chains.get(_id)!;
    if (!balance.eq(String(onHand)))
      return `${_id}: on hand is ${String(onHand)}, its entries say ${balance.toFixed()}`;
  }
  return undefined;
}
