import { recordedResult, type Posting } from './judge';
import { entriesOf } from './ledger';
import type { Database } from './models';
import type { MoveStockResult } from '../commands';

/**
 * Read-only look at the ledger: DUPLICATE or CONFLICT when the document stands there already (with what
 * quantities), APPLIED when this very run put it there and its answer was lost, null when it is new.
 * `adjustStock` looks again inside its transaction; this look spares one for what is settled.
 */
export async function checkTracking(database: Database, posting: Posting): Promise<MoveStockResult | null> {
  const { referenceType } = posting.command;
  // What a majority holds cannot be taken back by a change of primary.
  const durable = { readConcern: { level: 'majority' }, readPreference: 'primary' } as const;
  const entries = await entriesOf(database, [posting.command], durable);
  const recorded = entries.filter((entry) => entry.referenceType === referenceType);
  return recordedResult(posting, recorded) ?? null;
}
