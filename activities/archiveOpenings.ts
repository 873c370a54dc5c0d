/**
 * The opening of each stock: up to which entry its chain is archived and explained, and what it came to there. An
 * audit begins at it.
 */
import Big from 'big.js';
import { StockChain, type ChainStart } from './auditChain';
import { chainEntryOf, CHAIN_FORM, type ArchivedChainEntry } from './auditEntries';
import type { ArchivedEntry } from './archivedEntry';
import { fromDecimal128, readOnHand, toDecimal128 } from './decimals';
import { IN_ARCHIVED_CHAIN, type Database, type Opening } from './models';
import type { Session } from './transaction';

const NOTHING = toDecimal128(new Big(0));
const NO_OPENING = { sequence: 0, balance: NOTHING, entries: 0, sum: NOTHING };
/** Stocks at a time: between two of them an hour may pass, and no cursor lives that long. */
const STOCKS = 500;

/** Counts entries that move to the archive in this transaction. */
export async function countArchived(
  database: Database,
  entries: readonly ArchivedEntry[],
  session: Session,
): Promise<void> {
  const stocks = new Map<string, { archived: number; last: number }>();
  for (const { s, n } of entries) {
    if (n === undefined) continue;
    const { archived, last } = stocks.get(s) ?? { archived: 0, last: 0 };
    stocks.set(s, { archived: archived + 1, last: Math.max(last, Number(n)) });
  }
  if (stocks.size === 0) return;
  // In one order in every process, as `post` does.
  const updates = [...stocks].sort(([a], [b]) => (a < b ? -1 : 1));
  await database.openings.bulkWrite(
    updates.map(([_id, { archived, last }]) => ({
      updateOne: {
        filter: { _id },
        update: { $inc: { archived }, $max: { last }, $setOnInsert: NO_OPENING },
        upsert: true,
      },
    })),
    { session, ordered: true },
  );
}

/**
 * Moves the openings on to where the ledger's entries begin. An opening never passes a place that is not explained:
 * an audit finds it as long as nothing accounts for it.
 * @returns how many were moved on
 */
export async function advanceOpenings(database: Database, signal?: AbortSignal): Promise<number> {
  await addMissing(database);
  let moved = 0;
  for (let after = ''; !signal?.aborted;) {
    const behind = await database.openings
      .find(
        { _id: { $gt: after }, $expr: { $gt: ['$archived', '$entries'] } },
        { readConcern: { level: 'majority' }, limit: STOCKS },
      )
      .sort({ _id: 1 })
      .toArray();
    if (behind.length === 0) break;
    after = behind.at(-1)!._id;
    const moves = [];
    for (const opening of behind) {
      const move = signal?.aborted ? undefined : await advanced(database, opening, signal);
      if (move) moves.push(move);
    }
    // Together, because each write waits for the journal.
    if (moves.length > 0)
      moved += (await database.openings.bulkWrite(moves, { ordered: false })).modifiedCount;
  }
  return moved;
}

/** Where the chain of a stock goes on after its opening; undefined when it begins with its first entry. */
export function startOf({ entries, sequence, balance }: Opening): ChainStart | undefined {
  return entries > 0 ? { sequence, balance: fromDecimal128(balance) } : undefined;
}

/** What is archived below the ledger's first entry can only grow upwards, so nothing is locked while it is walked. */
async function advanced(database: Database, opening: Opening, signal?: AbortSignal) {
  const { _id } = opening;
  const chain = new StockChain(_id, startOf(opening));
  let entries = opening.entries;
  let sum = fromDecimal128(opening.sum);
  let whole: Pick<Opening, 'sequence' | 'balance' | 'entries' | 'sum'> | undefined;
  const walk = database.archive
    .find(
      { s: _id, n: { $gt: opening.sequence } },
      { projection: CHAIN_FORM, readConcern: { level: 'majority' } },
    )
    .sort({ n: 1 })
    .hint('stock_chain') as unknown as AsyncIterable<ArchivedChainEntry>;
  let last = opening.sequence;
  for await (const entry of walk) {
    // Only where a number is passed over can there be an entry that is not archived.
    if (Number(entry.n) > last + 1 && (await isLive(database, _id, last, Number(entry.n)))) break;
    last = Number(entry.n);
    chain.add(chainEntryOf(entry));
    entries++;
    sum = sum.plus(readOnHand(entry.d));
    const at = chain.whole();
    if (at) {
      const { sequence, balance } = at;
      whole = { sequence, balance: toDecimal128(balance), entries, sum: toDecimal128(sum) };
    }
    if (signal?.aborted) break;
  }
  // Two runs at once: the one that is behind changes nothing.
  return whole && { updateOne: { filter: { _id, sequence: opening.sequence }, update: { $set: whole } } };
}

/** Whether the ledger holds an entry of the chain between two places. */
async function isLive(database: Database, stockId: string, after: number, before: number): Promise<boolean> {
  const between = await database.tracking.findOne(
    { inventoryStockId: stockId, sequence: { $exists: true, $gt: after, $lt: before } },
    { projection: { _id: 1 }, readConcern: { level: 'majority' } },
  );
  return between !== null;
}

/** An opening that somebody took away, because an audit called it wrong, is made anew from what is archived. */
async function addMissing(database: Database): Promise<void> {
  const stocks = database.archive.aggregate<Pick<Opening, '_id' | 'archived' | 'last'>>(
    [{ $match: IN_ARCHIVED_CHAIN }, { $group: { _id: '$s', archived: { $sum: 1 }, last: { $max: '$n' } } }],
    { allowDiskUse: true, hint: 'stock_chain', readConcern: { level: 'majority' } },
  );
  let batch: Pick<Opening, '_id' | 'archived' | 'last'>[] = [];
  const addBatch = async () => {
    const known = database.openings.find(
      { _id: { $in: batch.map(({ _id }) => _id) } },
      { projection: { _id: 1 }, readConcern: { level: 'majority' } },
    );
    const ids = new Set((await known.toArray()).map(({ _id }) => _id));
    for (const { _id, ...counted } of batch) {
      if (ids.has(_id)) continue;
      const $setOnInsert = { ...counted, ...NO_OPENING };
      await database.openings.updateOne({ _id }, { $setOnInsert }, { upsert: true });
    }
    batch = [];
  };
  for await (const stock of stocks) if (batch.push(stock) === STOCKS) await addBatch();
  await addBatch();
}
