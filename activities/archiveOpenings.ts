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
/** A long chain is noted in between, so that a run that is stopped has not walked it for nothing. */
const NOTE_EVERY = 10_000;

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
  let advanced = 0;
  for (let after = ''; !signal?.aborted;) {
    // Page by page: between two stocks an hour may pass, and no cursor lives that long.
    const behind = await database.openings
      .find(
        { _id: { $gt: after }, $expr: { $gt: ['$archived', '$entries'] } },
        { readConcern: { level: 'majority' }, limit: 500 },
      )
      .sort({ _id: 1 })
      .toArray();
    if (behind.length === 0) break;
    after = behind.at(-1)!._id;
    for (const opening of behind) {
      if (!signal?.aborted && (await advance(database, opening, signal))) advanced++;
    }
  }
  return advanced;
}

/** Where the chain of a stock goes on after its opening; undefined when it begins with its first entry. */
export function startOf({ entries, sequence, balance }: Opening): ChainStart | undefined {
  return entries > 0 ? { sequence, balance: fromDecimal128(balance) } : undefined;
}

/** What is archived below the ledger's first entry can only grow upwards, so nothing is locked while it is walked. */
async function advance(database: Database, opening: Opening, signal?: AbortSignal): Promise<boolean> {
  const { _id } = opening;
  const firstLive = (await database.tracking.findOne(
    { inventoryStockId: _id, sequence: { $exists: true, $gt: opening.sequence } },
    { sort: { sequence: 1 }, projection: { sequence: 1 }, readConcern: { level: 'majority' } },
  )) as { sequence: number } | null;
  const range = { $gt: opening.sequence, ...(firstLive ? { $lt: Number(firstLive.sequence) } : {}) };
  const chain = new StockChain(_id, startOf(opening));
  let entries = opening.entries;
  let sum = fromDecimal128(opening.sum);
  let noted = opening;
  let whole: Opening | undefined;
  const note = async () => {
    if (!whole || whole.sequence === noted.sequence) return;
    const { sequence, balance, entries: count, sum: total } = whole;
    // Two runs at once: the one that is behind changes nothing.
    const filter = { _id, sequence: noted.sequence };
    await database.openings.updateOne(filter, { $set: { sequence, balance, entries: count, sum: total } });
    noted = whole;
  };
  const walk = database.archive
    .find({ s: _id, n: range }, { projection: CHAIN_FORM, readConcern: { level: 'majority' } })
    .sort({ n: 1 })
    .hint('stock_chain') as unknown as AsyncIterable<ArchivedChainEntry>;
  for await (const entry of walk) {
    chain.add(chainEntryOf(entry));
    entries++;
    sum = sum.plus(readOnHand(entry.d));
    const at = chain.whole();
    if (at) {
      const { sequence, balance } = at;
      whole = { ...noted, sequence, balance: toDecimal128(balance), entries, sum: toDecimal128(sum) };
    }
    if (entries % NOTE_EVERY === 0) await note();
    if (signal?.aborted) break;
  }
  await note();
  return noted !== opening;
}

/** An opening that somebody took away, because an audit called it wrong, is made anew from what is archived. */
async function addMissing(database: Database): Promise<void> {
  const stocks = database.archive.aggregate<{ _id: string; archived: number; last: number }>(
    [
      { $match: IN_ARCHIVED_CHAIN },
      { $group: { _id: '$s', archived: { $sum: 1 }, last: { $max: '$n' } } },
      {
        $lookup: {
          from: database.openings.collectionName,
          localField: '_id',
          foreignField: '_id',
          as: 'opening',
        },
      },
      { $match: { opening: [] } },
      { $project: { archived: 1, last: 1 } },
    ],
    { allowDiskUse: true, hint: 'stock_chain', readConcern: { level: 'majority' } },
  );
  for await (const { _id, archived, last } of stocks) {
    await database.openings.updateOne(
      { _id },
      { $setOnInsert: { archived, last, ...NO_OPENING } },
      { upsert: true },
    );
  }
}
