/** Which records a replay reads: from times or offsets to one half-open span [from, to) per partition. */
import type { KafkaAdmin, Watermarks } from './kafka';

/** Records `from` to `to - 1` of a partition. */
export interface Span {
  partition: number;
  from: bigint;
  to: bigint;
}

export interface Wish {
  /** Epoch milliseconds of the records; from the first one if left out. */
  fromMs?: number | undefined;
  /** Up to, not including, the first record of this time; up to now if left out. */
  toMs?: number | undefined;
  /** Only this partition. */
  partition?: number | undefined;
  /** Offsets [from, to) of that partition, instead of times. */
  offsets?: { from: bigint; to: bigint } | undefined;
}

export interface Spans {
  /** Only those that hold anything. */
  spans: Span[];
  /** Where the spans are not what a person may think: said, never silently shortened. */
  notes: string[];
}

/** What was asked for cannot be answered; the message says what can. */
export class SpanError extends Error {
  override readonly name = 'SpanError';
}

/**
 * The end is fixed here: what is produced later is not part of it.
 * @throws SpanError when topic or partition does not exist, or the end comes before the beginning
 */
export async function resolveSpans(admin: KafkaAdmin, topic: string, wish: Wish): Promise<Spans> {
  if (!(await admin.topics()).includes(topic)) throw new SpanError(`Kafka has no topic ${topic}`);
  const marks = (await admin.watermarks(topic)).sort((a, b) => a.partition - b.partition);
  if (wish.offsets) {
    if (wish.partition === undefined)
      throw new SpanError('offsets need a partition: --partition P --offsets A..B');
    return byOffsets(topic, ofPartition(topic, marks, wish.partition), wish.offsets);
  }
  const { fromMs, toMs } = wish;
  if (fromMs !== undefined && toMs !== undefined && toMs <= fromMs) {
    throw new SpanError('--to must be later than --from');
  }
  const starts = fromMs === undefined ? undefined : await admin.offsetsAt(topic, fromMs);
  const ends = toMs === undefined || toMs > Date.now() ? undefined : await admin.offsetsAt(topic, toMs);
  const notes =
    toMs !== undefined && toMs > Date.now() ? ['--to is in the future: up to what is there now'] : [];
  const chosen = wish.partition === undefined ? marks : [ofPartition(topic, marks, wish.partition)];
  const spans: Span[] = [];
  for (const { partition, low, high } of chosen) {
    const from = latest(low, starts?.get(partition) ?? low);
    const to = ends?.get(partition) ?? high;
    if (high === low) notes.push(`${topic}[${partition}] holds no record`);
    else if (from >= to)
      notes.push(`${topic}[${partition}] has nothing in this span (it holds offsets ${low} to ${high - 1n})`);
    else spans.push({ partition, from, to });
    // Whether what retention took was of this span, nobody can tell any more.
    if (from === low && low > 0n) {
      notes.push(
        `${topic}[${partition}]: records before offset ${low} are gone; some may have been of this span`,
      );
    }
  }
  return { spans, notes };
}

function byOffsets(
  topic: string,
  { partition, low, high }: Watermarks,
  asked: { from: bigint; to: bigint },
): Spans {
  if (asked.to <= asked.from)
    throw new SpanError(`offsets ${asked.from}..${asked.to} hold nothing: the end comes first`);
  const from = latest(low, asked.from);
  const to = asked.to < high ? asked.to : high;
  const notes: string[] = [];
  if (asked.from < low) notes.push(`${topic}[${partition}]: records before offset ${low} are gone`);
  if (asked.to > high)
    notes.push(`${topic}[${partition}] ends at offset ${high - 1n}: there is nothing after it yet`);
  return { spans: from < to ? [{ partition, from, to }] : [], notes };
}

function ofPartition(topic: string, marks: readonly Watermarks[], partition: number): Watermarks {
  const found = marks.find((mark) => mark.partition === partition);
  if (found) return found;
  throw new SpanError(
    `${topic} has no partition ${partition}; it has ${marks.map((m) => m.partition).join(', ')}`,
  );
}

function latest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** Records that spans can hold; fewer where offsets were compacted away or belong to transaction markers. */
export function spanSize(spans: readonly Span[]): number {
  return Number(spans.reduce((sum, { from, to }) => sum + (to - from), 0n));
}
