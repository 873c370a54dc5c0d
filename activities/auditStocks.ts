/** Checks 1, 2 and 4 of the audit: every stock against its chain of entries. */
import { startOf } from './archiveOpenings';
import { StockChain } from './auditChain';
import {
  mergedChain,
  openArchived,
  openChain,
  openEntries,
  openOpenings,
  openStocks,
  Peekable,
} from './auditEntries';
import { openingFault } from './auditOpening';
import { compareIds, inSnapshots } from './auditSnapshot';
import type { AuditRun } from './audit';
import { hasArchive } from './ledger';
import type { Database } from './models';
import type { Session } from './transaction';

/**
 * Reads all stocks and all of the ledger's entries once, side by side in stock order. Memory: one batch of each.
 * A chain with archived entries begins at its opening; an opening that says otherwise than what is archived is not
 * believed: then, and for `archived`, the archived entries are read one by one.
 */
export async function auditAllStocks(database: Database, run: AuditRun, archived: boolean): Promise<void> {
  await inSnapshots<string>(database, async (session, after, isOld) => {
    const withArchive = await hasArchive(database, session);
    const stocks = new Peekable(openStocks(database, session, after));
    const entries = new Peekable(openEntries(database, session, after));
    const openings = new Peekable(openOpenings(database, session, after));
    try {
      for (;;) {
        const stock = await stocks.peek();
        const entry = await entries.peek();
        const ahead = await openings.peek();
        // Whichever comes first: a stock may lack entries, and entries may lack their stock.
        const id = [stock?._id, entry?.inventoryStockId, ahead?._id]
          .filter((one) => one !== undefined)
          .sort(compareIds)[0];
        if (id === undefined) return undefined;
        const opening = ahead?._id === id ? (openings.take(), ahead) : undefined;
        const fault = withArchive ? await openingFault(database, session, id, opening) : undefined;
        if (fault) run.report({ check: 'archive', problem: 'opening', key: id, stockId: id, text: fault });
        const begins = fault || archived ? undefined : opening && startOf(opening);
        const chain = new StockChain(id, begins);
        if (begins) run.countBehindOpening(opening!.entries);
        const rest = withArchive && (fault || (opening?.archived ?? 0) > (begins ? opening!.entries : 0));
        const ofArchive = rest
          ? new Peekable(openArchived(database, session, id, begins?.sequence ?? 0))
          : undefined;
        for await (const one of mergedChain(id, entries, ofArchive)) {
          chain.add(one);
          run.countEntry();
        }
        run.endStock(chain, stock?._id === id ? (stocks.take(), stock) : undefined);
        if (isOld()) return id;
      }
    } finally {
      await stocks.close();
      await entries.close();
      await openings.close();
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
    const withArchive = await hasArchive(database, session);
    const stocks = new Peekable(openStocks(database, session, after));
    const transfers = new Set<string>();
    try {
      for (let stock = await stocks.peek(); stock; stock = await stocks.peek()) {
        stocks.take();
        await run.advanceTo(stock._id);
        if (run.isUnchanged(stock)) continue;
        const start = run.startOf(stock._id);
        const chain = new StockChain(stock._id, start);
        const from = start?.sequence ?? 0;
        const live = new Peekable(openChain(database, session, stock._id, from));
        const ofArchive = withArchive
          ? new Peekable(openArchived(database, session, stock._id, from))
          : undefined;
        for await (const entry of mergedChain(stock._id, live, ofArchive)) {
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

/** Entries that moved stock but stand in no chain: nothing else would find them. None of these is ever archived. */
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
