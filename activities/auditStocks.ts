/** Checks 1, 2 and 4 of the audit: every stock against its chain of entries. */
import { StockChain, type ChainEntry, type ChainStock } from './auditChain';
import { compareIds, inSnapshots } from './auditSnapshot';
import type { AuditRun } from './audit';
import type { Database } from './models';
import type { Session } from './transaction';

type Entry = ChainEntry & { referenceType?: string; referenceId?: string };
type Stock = ChainStock & { _id: string };

const ENTRY_FIELDS = { inventoryStockId: 1, sequence: 1, delta: 1, onHandAfter: 1, belowZero: 1, repairs: 1 };
const BATCH = 2_000;

/** Reads all stocks and all entries once, side by side in stock order. Memory: one batch of each. */
export async function auditAllStocks(database: Database, run: AuditRun): Promise<void> {
  await inSnapshots<string>(database, async (session, after, isOld) => {
    const stocks = new Peekable(openStocks(database, session, after));
    const entries = new Peekable(openEntries(database, session, after));
    try {
      for (;;) {
        const stock = await stocks.peek();
        const entry = await entries.peek();
        if (!stock && !entry) return undefined;
        // Whichever comes first: a stock may lack entries, and entries may lack their stock.
        const id =
          !entry || (stock && compareIds(stock._id, entry.inventoryStockId) <= 0)
            ? stock!._id
            : entry.inventoryStockId;
        const chain = new StockChain(id, run.startOf(id));
        for (let next = entry; next?.inventoryStockId === id; next = await entries.peek()) {
          chain.add(next);
          run.countEntry();
          entries.take();
        }
        run.endStock(chain, stock?._id === id ? (stocks.take(), stock) : undefined);
        if (isOld()) return id;
      }
    } finally {
      await stocks.close();
      await entries.close();
    }
  });
}

/** Reads all stocks, and entries only of those that moved since the checkpoint. */
export async function auditChangedStocks(
  database: Database,
  run: AuditRun,
  onTransfers: (referenceIds: string[], session: Session) => Promise<void>,
): Promise<void> {
  await inSnapshots<string>(database, async (session, after, isOld) => {
    const stocks = new Peekable(openStocks(database, session, after));
    const transfers = new Set<string>();
    try {
      for (let stock = await stocks.peek(); stock; stock = await stocks.peek()) {
        stocks.take();
        await run.advanceTo(stock._id);
        if (run.isUnchanged(stock)) continue;
        const start = run.startOf(stock._id);
        const chain = new StockChain(stock._id, start);
        const cursor = database.tracking
          .find(
            { inventoryStockId: stock._id, sequence: { $exists: true, $gt: start?.sequence ?? 0 } },
            { session, projection: { ...ENTRY_FIELDS, referenceType: 1, referenceId: 1 } },
          )
          .sort({ sequence: 1 });
        for await (const entry of cursor as unknown as AsyncIterable<Entry>) {
          chain.add(entry);
          run.countEntry();
          if (entry.referenceType === 'MATERIAL_TRANSFER') transfers.add(entry.referenceId!);
        }
        run.endStock(chain, stock);
        if (transfers.size >= 500) await onTransfers([...transfers], session).then(() => transfers.clear());
        if (isOld()) return await onTransfers([...transfers], session).then(() => stock?._id);
      }
      await onTransfers([...transfers], session);
      return undefined;
    } finally {
      await stocks.close();
    }
  });
}

/** Entries that moved stock but stand in no chain: nothing else would find them. */
export async function auditPlacelessEntries(database: Database, run: AuditRun): Promise<void> {
  const placeless = database.tracking.find(
    { outcome: 'APPLIED', sequence: { $not: { $gt: 0 } } },
    { projection: { inventoryStockId: 1 }, readConcern: { level: 'majority' } },
  );
  for await (const { _id, inventoryStockId } of placeless) {
    const text = 'moved stock, but has no place (sequence) in its chain';
    run.report({ check: 'entry', problem: 'no-place', key: _id, stockId: inventoryStockId, text });
  }
}

function openStocks(database: Database, session: Session, after: string | undefined) {
  return database.stocks
    .find(
      // Only text: no command can name a stock whose ID is something else.
      { _id: { $type: 'string', ...(after === undefined ? {} : { $gt: after }) } },
      { session, projection: { onHand: 1, sequence: 1 }, promoteLongs: false, batchSize: BATCH },
    )
    .sort({ _id: 1 }) as unknown as Cursor<Stock>;
}

function openEntries(database: Database, session: Session, after: string | undefined) {
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

interface Cursor<T> {
  next(): Promise<T | null>;
  close(): Promise<void>;
}

/** A cursor whose next document can be looked at before it is taken. */
class Peekable<T> {
  private next: T | null | undefined;

  constructor(private readonly cursor: Cursor<T>) {}

  async peek(): Promise<T | null> {
    return this.next === undefined ? (this.next = await this.cursor.next()) : this.next;
  }

  take(): void {
    this.next = undefined;
  }

  close(): Promise<void> {
    return this.cursor.close();
  }
}
