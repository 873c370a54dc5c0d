/**
 * `archive`: moves old documents from the ledger to the archive, in small transactions, while events flow.
 *
 * A document moves as a whole, so that its entries lie in one place for whoever judges it; later attempts (a
 * correction, a refusal re-opened) stand in the ledger again until they are old enough themselves. Which stocks it
 * touched does not matter for that: an archived entry keeps its place in the chain of its stock, and whoever walks
 * a chain reads both collections in order. The opening of a stock only spares the walk from its beginning.
 *
 * There is no state of a run beside the data: killed at any point, the next run finds what is left. Two runs at
 * once get in each other's way and no further: the second of two transactions on one document fails and looks again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { referenceKey, TIME_LIMITS_MS } from '../commands';
import { archivable, type KeptFor } from './archivable';
import type { ArchivedEntry } from './archivedEntry';
import { advanceOpenings, countArchived } from './archiveOpenings';
import { liveAndArchived, markArchive, type Reference } from './ledger';
import type { Database, TrackingEntry } from './models';
import { inTransaction, TransactionUnavailableError, type Session } from './transaction';

export interface ArchiveSettings {
  /** Documents whose entries were all recorded before this time. */
  before: Date;
  /** Entries moved a second, at most. */
  rate?: number | undefined;
  /** Stops after the step that is under way. */
  signal?: AbortSignal;
  /** After each step, and each page that was looked through. */
  onProgress?(counts: ArchiveCounts): void;
}

export interface ArchiveCounts {
  /** Moved by this run. */
  documents: number;
  entries: number;
  /** Documents that stay where they are, by reason. */
  kept: Record<KeptFor, number>;
  /** Entries of the ledger that were looked at. */
  read: number;
  /** Stocks whose opening was moved on. */
  openings: number;
  /** The run came to its end. */
  complete: boolean;
}

const PAGE = 2_000;
/** Documents in one transaction: it grows while a step is quick, and shrinks where it is not. */
const STEP = { first: 100, least: 10, most: 1_000 };
const QUICK_MS = 250;
const SLOW_MS = 1_000;
/** Tries of one step before the run gives up; run again, it goes on there. */
const TRIES = 5;

/** Rejects when the database does not answer; what was moved until then stays moved. */
export async function archive(database: Database, settings: ArchiveSettings): Promise<ArchiveCounts> {
  const { before, rate, signal } = settings;
  const counts: ArchiveCounts = {
    documents: 0,
    entries: 0,
    kept: { younger: 0, undecided: 0, odd: 0 },
    read: 0,
    openings: 0,
    complete: false,
  };
  await markArchive(database);
  const startedAt = Date.now();
  let size = STEP.first;
  for await (const { read, references } of oldDocuments(database, before, counts)) {
    for (let from = 0; from < references.length && !signal?.aborted;) {
      // Never more at once than a second may take.
      const step = references.slice(from, from + Math.min(size, rate ?? size));
      const began = Date.now();
      const moved = await tried(() => moveDocuments(database, step, before));
      from += step.length;
      counts.documents += moved.documents;
      counts.entries += moved.entries;
      for (const reason of moved.kept) counts.kept[reason]++;
      const ms = Date.now() - began;
      if (ms > SLOW_MS) size = Math.max(STEP.least, size >> 1);
      else if (ms < QUICK_MS) size = Math.min(STEP.most, size * 2);
      settings.onProgress?.(counts);
      if (rate) await pause((counts.entries / rate) * 1_000 - (Date.now() - startedAt), signal);
    }
    if (signal?.aborted) return counts;
    counts.read += read;
    settings.onProgress?.(counts);
  }
  counts.openings = await advanceOpenings(database, signal);
  counts.complete = !signal?.aborted;
  return counts;
}

/** The ledger's documents in the order of their IDs; those with an entry that is too young are only counted. */
async function* oldDocuments(
  database: Database,
  before: Date,
  counts: ArchiveCounts,
): AsyncGenerator<{ read: number; references: Reference[] }> {
  let after: string | undefined;
  for (;;) {
    // Text only: the mark has none.
    let entries = await readPage(database, after === undefined ? { $gte: '' } : { $gt: after }, PAGE);
    if (entries.length === 0) return;
    const last = entries.at(-1)!.referenceId;
    if (entries.length === PAGE) {
      // Of the last ID the page may hold only a part; it comes with the next one, or alone if it fills a page.
      entries = entries.filter(({ referenceId }) => referenceId !== last);
      if (entries.length === 0) entries = await readPage(database, { $eq: last }, 0);
    }
    after = entries.at(-1)!.referenceId;
    const documents = new Map<string, Reference & { old: boolean }>();
    for (const { referenceType, referenceId, recordedAt } of entries) {
      const key = `${referenceType}/${referenceId}`;
      const old = recordedAt < before && documents.get(key)?.old !== false;
      documents.set(key, { referenceType, referenceId, old });
    }
    const references = [...documents.values()].filter(({ old }) => old);
    counts.kept.younger += documents.size - references.length;
    yield { read: entries.length, references };
  }
}

function readPage(database: Database, referenceId: object, limit: number) {
  return database.tracking
    .find(
      { referenceId },
      {
        projection: { _id: 0, referenceId: 1, referenceType: 1, recordedAt: 1 },
        readConcern: { level: 'majority' },
        limit,
        batchSize: PAGE,
      },
    )
    .sort({ referenceId: 1, referenceType: 1, attempt: 1, line: 1 })
    .hint('reference_attempt')
    .toArray();
}

interface Moved {
  documents: number;
  entries: number;
  kept: KeptFor[];
}

async function moveDocuments(
  database: Database,
  references: readonly Reference[],
  before: Date,
): Promise<Moved> {
  return inTransaction(database.connection, TIME_LIMITS_MS.transaction, async (session) => {
    const documents = await readDocuments(database, references, session);
    const moved: Moved = { documents: 0, entries: 0, kept: [] };
    const archived: ArchivedEntry[] = [];
    const ids: string[] = [];
    for (const { live, earlier } of documents) {
      const form = archivable(live, earlier, before);
      if (typeof form === 'string') moved.kept.push(form);
      else {
        moved.documents++;
        archived.push(...form);
        ids.push(...live.map(({ _id }) => _id));
      }
    }
    moved.entries = ids.length;
    if (ids.length === 0) return moved;
    await database.archive.insertMany(archived, { session, ordered: true });
    const { deletedCount } = await database.tracking.deleteMany({ _id: { $in: ids } }, { session });
    if (deletedCount !== ids.length)
      throw new Error(`moved ${ids.length} entries, but took away ${deletedCount}`);
    await countArchived(database, archived, session);
    return moved;
  });
}

/** What of each document stands in the ledger, and what in the archive already; none that has moved meanwhile. */
async function readDocuments(database: Database, references: readonly Reference[], session: Session) {
  const { live, archived } = await liveAndArchived(database, references, { session, promoteLongs: false });
  const documents = new Map<string, Document>(references.map((r) => [keyOf(r), { live: [], earlier: [] }]));
  for (const entry of live) documents.get(keyOf(entry))?.live.push(entry);
  for (const entry of archived) documents.get(keyOf(entry))?.earlier.push(entry);
  return [...documents.values()].filter((document) => document.live.length > 0);
}

interface Document {
  live: TrackingEntry[];
  earlier: TrackingEntry[];
}

function keyOf({ referenceType, referenceId }: Reference): string {
  return referenceKey(referenceType, referenceId);
}

/** A step whose fate is unknown is looked at again: what has moved is not there any more. */
async function tried<T>(step: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof TransactionUnavailableError) || tries === TRIES) throw error;
      await sleep(200 * tries);
    }
  }
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, signal ? { signal } : {}).catch(() => undefined);
}
