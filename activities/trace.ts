/** `trace`: what the ledger says of one stock or one business document. Reads only. */
import { REFERENCE_TYPES, referenceKey, type ReferenceType } from '../commands';
import { fromArchived } from './archivedEntry';
import { compareIds } from './auditSnapshot';
import { readOnHand } from './decimals';
import { hasArchive } from './ledger';
import { IN_ARCHIVED_CHAIN, IN_CHAIN, type Database, type EffectEntry, type TrackingEntry } from './models';

/** A ledger entry as it is shown: decimals as text, times as ISO 8601. */
export interface TracedEntry {
  key: string;
  referenceType: string;
  referenceId: string;
  inventoryStockId: string;
  attempt: number;
  outcome: string;
  delta: string;
  /** What the document asked, for an entry without effect. */
  asked?: string;
  onHandAfter?: string;
  sequence?: number;
  belowZero: boolean;
  occurredAt: string;
  recordedAt: string;
  source: { topic: string; partition: number; offset: string };
  workflowId: string;
  runId: string;
  case?: string;
  correctionOf?: number;
  decision?: string;
  actor?: string;
  reason?: string;
  repairs?: { sequence: number; missingFrom?: number };
}

export interface StockTrace {
  stockId: string;
  onHand: string;
  sequence: number;
  /** Balance before the first entry; absent where there is none. */
  opening?: string;
  /** In order of the chain. */
  entries: TracedEntry[];
  /** Sequences that are not on this page, if there are any. */
  before?: number;
  after?: number;
}

export interface Page {
  /** Entries on a page. */
  limit: number;
  /** Only entries before this sequence, nearest first chosen; the newest if neither is given. */
  before?: number | undefined;
  /** Only entries after this sequence. */
  after?: number | undefined;
  /** Only entries recorded since. */
  since?: Date | undefined;
}

/** Nobody reads more; a document has far fewer. */
const MAX_OF_REFERENCE = 10_000;

/** @returns undefined when there is neither a stock nor an entry of it */
export async function traceStock(
  database: Database,
  stockId: string,
  { limit, before, after, since }: Page,
): Promise<StockTrace | undefined> {
  const stock = await database.stocks.findOne({ _id: stockId }, { promoteLongs: false });
  const [first] = await chain(database, stockId, {}, 1, 1);
  if (!stock && !first) return undefined;
  const range = {
    ...(before === undefined ? {} : { $lt: before }),
    ...(after === undefined ? {} : { $gt: after }),
  };
  // From `after` or `since` on, forwards; otherwise the last ones, backwards.
  const forwards = after !== undefined || (since !== undefined && before === undefined);
  const found = await chain(database, stockId, { range, since }, forwards ? 1 : -1, limit + 1);
  const more = found.length > limit;
  const page = more ? found.slice(0, limit) : found;
  if (!forwards) page.reverse();
  const opening = first && shown(readOnHand(first.onHandAfter).minus(effect(first)));
  return {
    stockId,
    onHand: stock ? text(stock.onHand) : '(no such stock)',
    sequence: Number(stock?.sequence ?? 0),
    ...(opening ? { opening } : {}),
    entries: page.map(traced),
    ...(page.length > 0 && (more ? !forwards : page[0]!.sequence > (first?.sequence ?? 1))
      ? { before: page[0]!.sequence }
      : {}),
    ...(more && forwards ? { after: page.at(-1)!.sequence } : {}),
  };
}

/** Every entry of a document, receipts of a purchase order among them, attempt by attempt. */
export async function traceReference(
  database: Database,
  referenceId: string,
  referenceType?: ReferenceType,
): Promise<TracedEntry[]> {
  const live = await database.tracking
    .find({
      // `PO-1#R-1` is a receipt of order `PO-1`; `$` is the character after `#`.
      $or: [{ referenceId }, { referenceId: { $gte: `${referenceId}#`, $lt: `${referenceId}$` } }],
      ...(referenceType ? { referenceType } : {}),
    })
    .limit(MAX_OF_REFERENCE)
    .toArray();
  const types = referenceType ? [referenceType] : REFERENCE_TYPES;
  const archived = await archivedFrom(
    database,
    types.flatMap((type) => {
      const key = referenceKey(type, referenceId);
      const receipts = type === 'PURCHASE_ORDER' ? [{ $gte: `${key}#`, $lt: `${key}$` }] : [];
      return [{ $gte: `${key}/`, $lt: `${key}0` }, ...receipts];
    }),
  );
  return merged(live, archived)
    .filter((e) => e.referenceId === referenceId || e.referenceType === 'PURCHASE_ORDER')
    .sort(inOrder)
    .map(traced);
}

/** `SALE_ORDER/SO-1` as type and ID; anything else is an ID of whatever type. */
export function parseReference(text: string): { referenceType?: ReferenceType; referenceId: string } {
  const referenceType = REFERENCE_TYPES.find((type) => text.startsWith(`${type}/`));
  if (!referenceType) return { referenceId: text };
  const part = text.slice(referenceType.length + 1);
  try {
    return { referenceType, referenceId: decodeURIComponent(part) };
  } catch {
    return { referenceType, referenceId: part };
  }
}

/** Entries of a chain, the first ones in a direction, from the ledger and the archive together. */
async function chain(
  database: Database,
  stockId: string,
  { range = {}, since }: { range?: object; since?: Date | undefined },
  direction: 1 | -1,
  limit: number,
): Promise<EffectEntry[]> {
  const live = await database.tracking
    .find({
      inventoryStockId: stockId,
      sequence: { ...IN_CHAIN.sequence, ...range },
      ...(since ? { recordedAt: { $gte: since } } : {}),
    })
    .sort({ sequence: direction })
    .limit(limit)
    .toArray();
  const archived = (await hasArchive(database))
    ? await database.archive
        .find({
          s: stockId,
          n: { ...IN_ARCHIVED_CHAIN.n, ...range },
          ...(since ? { r: { $gte: since } } : {}),
        })
        .sort({ n: direction })
        .limit(limit)
        .toArray()
    : [];
  return (merged(live, archived.map(fromArchived)) as EffectEntry[])
    .sort((a, b) => direction * (a.sequence - b.sequence))
    .slice(0, limit);
}

async function archivedFrom(database: Database, ranges: object[]): Promise<TrackingEntry[]> {
  if (!(await hasArchive(database))) return [];
  const found = database.archive
    .find({ $or: ranges.map((_id) => ({ _id })) } as object)
    .limit(MAX_OF_REFERENCE);
  return (await found.toArray()).map(fromArchived);
}

/** What moves while it is read is found in both places. */
function merged(live: TrackingEntry[], archived: TrackingEntry[]): TrackingEntry[] {
  const known = new Set(live.map(({ _id }) => _id));
  return [...live, ...archived.filter(({ _id }) => !known.has(_id))];
}

function inOrder(a: TrackingEntry, b: TrackingEntry): number {
  return (
    compareIds(a.referenceId, b.referenceId) ||
    compareIds(a.referenceType, b.referenceType) ||
    a.attempt - b.attempt ||
    a.line - b.line
  );
}

function effect(entry: EffectEntry) {
  return 'repairs' in entry && entry.repairs ? readOnHand(0) : readOnHand(entry.delta);
}

function shown(value: ReturnType<typeof readOnHand>): string {
  return value.toFixed();
}

/** Whatever stands there, for a person to see. */
function text(value: unknown): string {
  try {
    return shown(readOnHand(value));
  } catch (error) {
    return (error as Error).message;
  }
}

function traced(entry: TrackingEntry): TracedEntry {
  const { _id, delta, occurredAt, recordedAt, source, line: _, ...rest } = entry;
  const { asked, onHandAfter } = entry as { asked?: unknown; onHandAfter?: unknown };
  return {
    ...(rest as unknown as TracedEntry),
    key: _id,
    delta: text(delta),
    ...(asked === undefined ? {} : { asked: text(asked) }),
    ...(onHandAfter === undefined ? {} : { onHandAfter: text(onHandAfter) }),
    occurredAt: occurredAt.toISOString(),
    recordedAt: recordedAt.toISOString(),
    source: { ...source, offset: String(source.offset) },
  };
}
