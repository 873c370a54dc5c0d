/**
 * A ledger entry in its archived form: the same facts in less than half the bytes. Names are one letter, because
 * BSON repeats them in every document; what follows from the key is not stored twice; digests are bytes, not text.
 */
import { isDeepStrictEqual } from 'node:util';
import { REFERENCE_TYPES, referenceKey, trackingId, type ReferenceType } from '../commands';
import { Binary, type Decimal128, type EffectEntry, type Long, type TrackingEntry } from './models';

export interface ArchivedEntry {
  /** Reference and place within it, see {@link archivedId}: attempt and line follow from it. */
  _id: string;
  /** Stock. */
  s: string;
  /** Delta. */
  d: Decimal128;
  /** Balance after, of an entry with effect. */
  b?: Decimal128;
  /** Sequence in the stock's chain, of an entry with effect. */
  n?: number;
  /** Outcome; left out: APPLIED. */
  o?: TrackingEntry['outcome'];
  /** Below zero; left out: false. */
  z?: true;
  /** Occurred at. */
  c: Date;
  /** Recorded at. */
  r: Date;
  /** Source: topic, partition, offset. */
  t: string;
  p: number;
  f: Long;
  /** Workflow: the digest behind the reference, or the whole ID where it has another form. */
  w?: Binary | string;
  /** Workflow: the digest of a group. */
  g?: Binary;
  /** Run. */
  u: Binary | string;
  /** What only few entries have, as it was: a case, a decision, a correction, a count, a repair; and what is none of ours. */
  m?: Record<string, unknown>;
}

const DIGEST = /^[0-9a-f]{32}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const GROUP = 'group/';

/**
 * `SALE_ORDER/SO-1/` for the first line of the first attempt, `SALE_ORDER/SO-1/2.0` for others: whether a reference
 * has anything in the archive is one look at one key, whatever its stocks are.
 */
export function archivedId(reference: string, attempt = 1, line = 0): string {
  return attempt === 1 && line === 0 ? `${reference}/` : `${reference}/${attempt}.${line}`;
}

/**
 * @returns undefined when the form could not give the entry back exactly as it is: such an entry was not written
 * by this program, and stays where it is
 */
export function toArchived(entry: TrackingEntry): ArchivedEntry | undefined {
  const { _id, referenceType, referenceId, inventoryStockId, attempt, line, delta, belowZero, ...others } =
    entry as TrackingEntry & Partial<Pick<EffectEntry, 'onHandAfter' | 'sequence'>>;
  const { outcome, onHandAfter, sequence, occurredAt, recordedAt, source, workflowId, runId, ...more } =
    others;
  try {
    const reference = referenceKey(referenceType, referenceId);
    const archived: ArchivedEntry = {
      _id: archivedId(reference, attempt, line),
      s: inventoryStockId,
      d: delta,
      ...(onHandAfter === undefined ? {} : { b: onHandAfter }),
      ...(sequence === undefined ? {} : { n: sequence }),
      ...(outcome === 'APPLIED' ? {} : { o: outcome }),
      ...(belowZero ? { z: true } : {}),
      c: occurredAt,
      r: recordedAt,
      t: source.topic,
      p: source.partition,
      f: source.offset,
      ...packedWorkflow(reference, workflowId),
      u: UUID.test(runId) ? bytes(runId.replaceAll('-', '')) : runId,
      ...(Object.keys(more).length === 0 ? {} : { m: more }),
    };
    return _id === trackingId(referenceType, referenceId, inventoryStockId, attempt) &&
      isDeepStrictEqual(fromArchived(archived), entry)
      ? archived
      : undefined;
  } catch {
    return undefined; // A field holds something that is none of ours.
  }
}

/** The entry as it stood in the ledger. */
export function fromArchived(archived: ArchivedEntry): TrackingEntry {
  const { referenceType, referenceId, attempt, line } = placeOf(archived._id);
  const reference = referenceKey(referenceType, referenceId);
  return {
    _id: trackingId(referenceType, referenceId, archived.s, attempt),
    referenceType,
    referenceId,
    inventoryStockId: archived.s,
    attempt,
    line,
    delta: archived.d,
    belowZero: archived.z === true,
    outcome: archived.o ?? 'APPLIED',
    ...(archived.b === undefined ? {} : { onHandAfter: archived.b }),
    ...(archived.n === undefined ? {} : { sequence: archived.n }),
    occurredAt: archived.c,
    recordedAt: archived.r,
    source: { topic: archived.t, partition: archived.p, offset: archived.f },
    workflowId: unpackedWorkflow(reference, archived),
    runId: typeof archived.u === 'string' ? archived.u : uuid(archived.u),
    ...archived.m,
  } as TrackingEntry;
}

/** Takes an archived entry's `_id` apart. */
export function placeOf(_id: string): {
  referenceType: ReferenceType;
  referenceId: string;
  attempt: number;
  line: number;
} {
  const [type, id, place] = _id.split('/');
  const referenceType = REFERENCE_TYPES.find((known) => known === type);
  if (!referenceType || id === undefined || place === undefined)
    throw new Error(`${JSON.stringify(_id)} is no key of an archived entry`);
  const [attempt, line] = place === '' ? [1, 0] : place.split('.').map(Number);
  return { referenceType, referenceId: decodeURIComponent(id), attempt: attempt!, line: line! };
}

function packedWorkflow(reference: string, workflowId: string): Pick<ArchivedEntry, 'w' | 'g'> {
  const own = workflowId.startsWith(`${reference}/`) ? workflowId.slice(reference.length + 1) : '';
  if (DIGEST.test(own)) return { w: bytes(own) };
  const group = workflowId.startsWith(GROUP) ? workflowId.slice(GROUP.length) : '';
  return DIGEST.test(group) ? { g: bytes(group) } : { w: workflowId };
}

function unpackedWorkflow(reference: string, { w, g }: ArchivedEntry): string {
  if (g !== undefined) return `${GROUP}${g.toString('hex')}`;
  return typeof w === 'string' ? w : `${reference}/${w!.toString('hex')}`;
}

function bytes(hex: string): Binary {
  return new Binary(Buffer.from(hex, 'hex'));
}

function uuid(binary: Binary): string {
  const hex = binary.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
