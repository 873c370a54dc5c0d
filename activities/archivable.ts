/** Which documents may leave the ledger: those that nothing is left to be said about, and that say it themselves. */
import { readAttempts } from './attempts';
import { toArchived, type ArchivedEntry } from './archivedEntry';
import { transferFault } from './auditTransfers';
import { readOnHand } from './decimals';
import type { TrackingEntry } from './models';
import { unsettledAmong } from './unsettled';

/**
 * - `younger`: an entry was recorded after the horizon
 * - `undecided`: a version of the document waits for a person
 * - `odd`: an entry is not as this program writes it, one is missing, or a transfer does not sum to zero: it stays
 *   where `audit` looks at it first
 */
export type KeptFor = 'younger' | 'undecided' | 'odd';

/**
 * The archived form of a document's entries, or why it stays.
 * @param live what of the document stands in the ledger
 * @param earlier what of it is archived already
 */
export function archivable(
  live: readonly TrackingEntry[],
  earlier: readonly TrackingEntry[],
  before: Date,
): ArchivedEntry[] | KeptFor {
  if (live.some(({ recordedAt }) => !(recordedAt < before))) return 'younger';
  const all = [...earlier, ...live];
  if (!isWhole(all) || !live.every(hasItsPlace)) return 'odd';
  if (live[0]!.referenceType === 'MATERIAL_TRANSFER' && transferFault(all)) return 'odd';
  if (unsettledAmong(all).some(({ outcome }) => outcome === 'PARKED')) return 'undecided';
  const forms = live.map(toArchived);
  return forms.every((form) => form !== undefined) ? forms : 'odd';
}

/** Attempts 1, 2, 3, each with its lines 0, 1, 2. */
function isWhole(entries: readonly TrackingEntry[]): boolean {
  return readAttempts(entries).every(
    (attempt, index) =>
      attempt.number === index + 1 &&
      attempt.entries.every(({ line, outcome }, at) => line === at && outcome === attempt.outcome),
  );
}

function hasItsPlace(entry: TrackingEntry): boolean {
  try {
    readOnHand(entry.delta);
    if (entry.outcome !== 'APPLIED')
      return entry.asked !== undefined && readOnHand(entry.asked) !== undefined;
    readOnHand(entry.onHandAfter);
    return Number.isInteger(Number(entry.sequence)) && Number(entry.sequence) > 0;
  } catch {
    return false;
  }
}
