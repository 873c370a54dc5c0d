/**
 * The entries of references, wherever they are: in the ledger itself, or in the archive that old ones are moved to.
 * Whoever judges, shows or audits a document reads it here.
 *
 * **Why a reader never misses an entry.** `archive` writes a mark into the ledger before it moves the first one, and
 * moves a document's entries in one transaction. Inside a transaction, mark, ledger and archive are seen as of one
 * moment: without the mark nothing has been moved. Outside of one, the mark is the last that is read (its reference
 * sorts behind all text), and the archive is read after the ledger: an entry that moves in between is seen twice,
 * never not at all. So nobody has to remember, or wait for others to learn, that there is an archive.
 */
import { referenceKey, type ReferenceType } from '../commands';
import { archivedId, fromArchived } from './archivedEntry';
import type { Database, TrackingEntry } from './models';
import type { Session } from './transaction';

/** Says that there is an archive. No document has a reference that is not text; this one sorts behind all text. */
const MARK = { _id: '(archive)', referenceId: true } as const;
/** Ranges in one query: more make it slow to plan. */
const RANGES = 200;

export interface Reference {
  referenceType: ReferenceType;
  referenceId: string;
}

export interface ReadOptions {
  session?: Session;
  readConcern?: { level: 'majority' };
  readPreference?: 'primary';
  promoteLongs?: boolean;
  batchSize?: number;
}

/** Every entry of the references, in no order; entries of the same ID under another type may be among them. */
export async function entriesOf(
  database: Database,
  references: readonly Reference[],
  options: ReadOptions = {},
): Promise<TrackingEntry[]> {
  const { live, archived } = await liveAndArchived(database, references, options);
  if (archived.length === 0) return live;
  const known = new Set(live.map(({ _id }) => _id));
  return [...live, ...archived.filter(({ _id }) => !known.has(_id))];
}

/** The same, told apart by where they are. Where nothing was ever archived this is one look-up, else two. */
export async function liveAndArchived(
  database: Database,
  references: readonly Reference[],
  options: ReadOptions,
): Promise<{ live: TrackingEntry[]; archived: TrackingEntry[] }> {
  const ids: unknown[] = [...new Set(references.map(({ referenceId }) => referenceId)), MARK.referenceId];
  const found = await database.tracking.find({ referenceId: { $in: ids as string[] } }, options).toArray();
  const live = found.filter(({ _id }) => _id !== MARK._id);
  if (live.length === found.length) return { live, archived: [] };
  const keys = references.map(({ referenceType, referenceId }) => referenceKey(referenceType, referenceId));
  return { live, archived: await archivedOf(database, [...new Set(keys)], options) };
}

/** One look at one key for each reference; what is there is read whole. */
async function archivedOf(
  database: Database,
  references: readonly string[],
  options: ReadOptions,
): Promise<TrackingEntry[]> {
  const _id = { $in: references.map((reference) => archivedId(reference)) };
  const found = await database.archive.find({ _id }, options).toArray();
  const first = found.map((entry) => entry._id);
  for (let from = 0; from < first.length; from += RANGES) {
    // The key ends in `/`, and `0` is the character after it.
    const others = first
      .slice(from, from + RANGES)
      .map((key) => ({ _id: { $gt: key, $lt: `${key.slice(0, -1)}0` } }));
    found.push(...(await database.archive.find({ $or: others }, options).toArray()));
  }
  return found.map(fromArchived);
}

/** Whether anything was ever archived. */
export async function hasArchive(database: Database, session?: Session): Promise<boolean> {
  return (await database.tracking.findOne({ _id: MARK._id }, session ? { session } : {})) !== null;
}

/** From here on every reader looks into the archive as well; durable before this resolves. Safe to repeat. */
export async function markArchive(database: Database): Promise<void> {
  await database.tracking.updateOne(
    { _id: MARK._id },
    { $setOnInsert: { referenceId: MARK.referenceId, since: new Date() } as never },
    { upsert: true, writeConcern: { w: 'majority', journal: true } },
  );
}
