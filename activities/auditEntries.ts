/** How an audit reads: stocks, chains and openings, each in order, the archived part of a chain along with the other. */
import { trackingId } from '../commands';
import { placeOf, type ArchivedEntry } from './archivedEntry';
import type { ChainEntry, ChainStock } from './auditChain';
import type { Database, Opening } from './models';
import type { Session } from './transaction';

export type Entry = ChainEntry & { referenceType?: string; referenceId?: string };
export type Stock = ChainStock & { _id: string };
/** What a chain needs of an archived entry. */
export type ArchivedChainEntry = Pick<ArchivedEntry, '_id' | 's' | 'd' | 'b' | 'n' | 'z' | 'm'>;

const ENTRY_FIELDS = { inventoryStockId: 1, sequence: 1, delta: 1, onHandAfter: 1, belowZero: 1, repairs: 1 };
/** The same of an archived entry. */
export const CHAIN_FORM = { s: 1, d: 1, b: 1, n: 1, z: 1, 'm.repairs': 1 };
const BATCH = 2_000;

export function openStocks(database: Database, session: Session, after: string | undefined): Cursor<Stock> {
  return database.stocks
    .find(
      // Only text: no command can name a stock whose ID is something else.
      { _id: { $type: 'string', ...(after === undefined ? {} : { $gt: after }) } },
      { session, projection: { onHand: 1, sequence: 1 }, promoteLongs: false, batchSize: BATCH },
    )
    .sort({ _id: 1 });
}

export function openOpenings(
  database: Database,
  session: Session,
  after: string | undefined,
): Cursor<Opening> {
  return database.openings
    .find(after === undefined ? {} : { _id: { $gt: after } }, { session, batchSize: BATCH })
    .sort({ _id: 1 });
}

/** The ledger's entries of all chains, chain by chain. */
export function openEntries(database: Database, session: Session, after: string | undefined): Cursor<Entry> {
  return database.tracking
    .find(
      // `$exists` is what the index is limited to; entries without effect have no place.
      {
        sequence: { $exists: true, $gt: 0 },
        ...(after === undefined ? {} : { inventoryStockId: { $gt: after } }),
      },
      { session, projection: ENTRY_FIELDS, batchSize: BATCH },
    )
    .sort({ inventoryStockId: 1, sequence: 1 })
    .hint('stock_chain') as unknown as Cursor<Entry>;
}

/** The ledger's entries of one chain after a place. */
export function openChain(
  database: Database,
  session: Session,
  stockId: string,
  after: number,
): Cursor<Entry> {
  return database.tracking
    .find(
      { inventoryStockId: stockId, sequence: { $exists: true, $gt: after } },
      { session, projection: { ...ENTRY_FIELDS, referenceType: 1, referenceId: 1 }, batchSize: BATCH },
    )
    .sort({ sequence: 1 }) as unknown as Cursor<Entry>;
}

/** The archived entries of one chain after a place. */
export function openArchived(
  database: Database,
  session: Session,
  stockId: string,
  after: number,
): Cursor<Entry> {
  const cursor = database.archive
    .find({ s: stockId, n: { $gt: after } }, { session, projection: CHAIN_FORM, batchSize: BATCH })
    .sort({ n: 1 })
    .hint('stock_chain') as unknown as Cursor<ArchivedChainEntry>;
  return {
    next: async () => {
      const entry = await cursor.next();
      return entry && chainEntryOf(entry);
    },
    close: () => cursor.close(),
  };
}

export function chainEntryOf({ _id, s, d, b, n, z, m }: ArchivedChainEntry): Entry {
  const { referenceType, referenceId, attempt } = placeOf(_id);
  const repairs = m?.['repairs'] as ChainEntry['repairs'];
  return {
    _id: trackingId(referenceType, referenceId, s, attempt),
    inventoryStockId: s,
    sequence: n ?? 0,
    delta: d,
    onHandAfter: b,
    belowZero: z === true,
    ...(repairs ? { repairs } : {}),
    referenceType,
    referenceId,
  };
}

export interface Cursor<T> {
  next(): Promise<T | null>;
  close(): Promise<void>;
}

/** A cursor whose next document can be looked at before it is taken. */
export class Peekable<T> {
  private ahead: T | null | undefined;

  constructor(private readonly cursor: Cursor<T>) {}

  async peek(): Promise<T | null> {
    return this.ahead === undefined ? (this.ahead = await this.cursor.next()) : this.ahead;
  }

  take(): void {
    this.ahead = undefined;
  }

  close(): Promise<void> {
    return this.cursor.close();
  }
}

/** One chain from both places, in order of the sequence; the ledger's cursor may go on with other stocks. */
export async function* mergedChain(
  stockId: string,
  live: Peekable<Entry>,
  archived: Peekable<Entry> | undefined,
): AsyncGenerator<Entry> {
  for (;;) {
    const next = await live.peek();
    const ofLive = next?.inventoryStockId === stockId ? next : undefined;
    const ofArchive = (await archived?.peek()) ?? undefined;
    if (!ofLive && !ofArchive) return;
    const takesLive = !ofArchive || (ofLive && Number(ofLive.sequence) < Number(ofArchive.sequence));
    (takesLive ? live : archived!).take();
    yield takesLive ? ofLive! : ofArchive;
  }
}
