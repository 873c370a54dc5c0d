/** Whether the opening of a stock says what its archived entries say: they are counted by index, the ends are read. */
import Big from 'big.js';
import { CHAIN_FORM, type ArchivedChainEntry } from './auditEntries';
import { readOnHand } from './decimals';
import { IN_ARCHIVED_CHAIN, type Database, type Opening } from './models';
import type { Session } from './transaction';

/** @returns what is wrong, in words */
export async function openingFault(
  database: Database,
  session: Session,
  stockId: string,
  opening: Opening | undefined,
): Promise<string | undefined> {
  const count = (n: object) =>
    database.archive.countDocuments({ s: stockId, n }, { session, hint: 'stock_chain' });
  const there = await count(IN_ARCHIVED_CHAIN.n);
  if (!opening) {
    if (there === 0) return undefined;
    return `has no opening for its ${there} archived entries; the next \`inventory archive\` makes one`;
  }
  if (there !== opening.archived)
    return `${opening.archived} entries were archived, ${there} are there; ${REMEDY}`;
  if (opening.entries === 0) return undefined;
  const upTo = await count({ $gt: 0, $lte: opening.sequence });
  if (upTo !== opening.entries)
    return `${opening.entries} entries were archived up to ${opening.sequence}, ${upTo} are there; ${REMEDY}`;
  const first = await oneOf(database, session, stockId, 1);
  const last = await oneOf(database, session, stockId, -1, opening.sequence);
  try {
    const balance = readOnHand(opening.balance);
    const after = readOnHand(last?.b);
    if (Number(last?.n) !== opening.sequence || !after.eq(balance))
      return `says ${balance.toFixed()} after entry ${opening.sequence}, entry ${last?.n} says ${after.toFixed()}; ${REMEDY}`;
    const before = readOnHand(first?.b).minus(first?.m?.['repairs'] ? new Big(0) : readOnHand(first?.d));
    const sum = readOnHand(opening.sum);
    if (!before.plus(sum).eq(balance))
      return `says that its entries sum to ${sum.toFixed()}, they go from ${before.toFixed()} to ${balance.toFixed()}; ${REMEDY}`;
    return undefined;
  } catch (error) {
    return `${(error as Error).message}; ${REMEDY}`;
  }
}

/** The entries themselves are right or wrong by their own chain, which is read in this case. */
const REMEDY =
  'if its chain is whole, delete its document in inventory_opening: the next `inventory archive` makes it anew';

async function oneOf(
  database: Database,
  session: Session,
  stockId: string,
  direction: 1 | -1,
  upTo = Infinity,
): Promise<ArchivedChainEntry | null> {
  return database.archive.findOne(
    { s: stockId, n: { $gt: 0, $lte: upTo } },
    { session, projection: CHAIN_FORM, sort: { n: direction }, hint: 'stock_chain' },
  );
}
