/** Check 5 of the audit, the ledger's side: every entry that names a record of a span names one that is there. */
import type { Finding } from './auditFinding';
import { referenceKey } from '../commands';
import { fromArchived } from './archivedEntry';
import { hasArchive } from './ledger';
import type { Database, TrackingEntry } from './models';

/** What stands at each offset of the spans: a 32-bit trace of its reference, 4 bytes a record however many. */
export class SpanIndex {
  private readonly byPartition = new Map<number, { from: number; traces: Uint32Array }>();

  /** @param spans half-open, by offset */
  constructor(spans: readonly { partition: number; from: bigint; to: bigint }[]) {
    for (const { partition, from, to } of spans) {
      this.byPartition.set(partition, { from: Number(from), traces: new Uint32Array(Number(to - from)) });
    }
  }

  note(partition: number, offset: string, reference: string): void {
    const span = this.byPartition.get(partition);
    if (span) span.traces[Number(offset) - span.from] = traceOf(reference);
  }

  /** `outside` of the spans; `nothing` that posts stock stands there; `other`: the event of another document. */
  look(partition: number, offset: number, reference: string): 'outside' | 'nothing' | 'other' | 'same' {
    const span = this.byPartition.get(partition);
    const trace = span?.traces[offset - span.from];
    if (trace === undefined) return 'outside';
    if (trace === 0) return 'nothing';
    return trace === traceOf(reference) ? 'same' : 'other';
  }
}

/**
 * Reads the whole ledger and its archive once, because entries are not indexed by where they came from.
 * @returns how many entries name records of the span
 */
export async function auditSources(
  database: Database,
  topic: string,
  index: SpanIndex,
  report: (finding: Finding) => void,
): Promise<number> {
  let named = 0;
  for await (const { _id, referenceType, referenceId, source } of entriesFrom(database, topic)) {
    const reference = referenceKey(referenceType, referenceId);
    const found = index.look(source.partition, Number(source.offset), reference);
    if (found === 'outside') continue;
    named++;
    if (found === 'same') continue;
    const place = `${topic}[${source.partition}]@${String(source.offset)}`;
    report(
      found === 'nothing'
        ? {
            check: 'topic',
            problem: 'no-record',
            key: _id,
            text: `names ${place}, where no such event stands`,
          }
        : {
            check: 'topic',
            problem: 'other-record',
            key: _id,
            text: `names ${place}, the event of another document`,
          },
    );
  }
  return named;
}

/** The ledger first: an entry that moves to the archive meanwhile is seen twice rather than not at all. */
async function* entriesFrom(
  database: Database,
  topic: string,
): AsyncGenerator<Pick<TrackingEntry, '_id' | 'referenceType' | 'referenceId' | 'source'>> {
  const options = { readConcern: { level: 'majority' }, batchSize: 2_000 } as const;
  const projection = { referenceType: 1, referenceId: 1, source: 1 };
  yield* database.tracking.find({ 'source.topic': topic }, { ...options, projection });
  if (!(await hasArchive(database))) return;
  for await (const archived of database.archive.find({ t: topic }, options)) yield fromArchived(archived);
}

/** FNV-1a, never 0: zero says that nothing stands there. */
function traceOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash || 1;
}
