/** `replay --apply`: what is not in the ledger yet goes the way of every event, and is waited for. */
import { Forecast } from '../activities/forecast';
import type { Policy } from '../activities/judge';
import type { Database } from '../activities/models';
import { Pace, settled, startAll } from '../bridge/replayApply';
import { readSpans } from '../bridge/replayRead';
import type { Starter } from '../bridge/start';
import type { KafkaRecord } from '../bridge/topics';
import type { ReplayCheckpoint } from './replayCheckpoint';
import { add, type Counts } from './replayCounts';
import { judgeRecords, type ForecastSettings, type Judged } from './replayForecast';

export interface ApplySettings extends Omit<ForecastSettings, 'forecast' | 'spans' | 'out'> {
  database: Database;
  policy: Policy;
  starter: Starter;
  perSecond: number;
  checkpoint: ReplayCheckpoint;
  /** Called after each batch; the checkpoint says what is left by then. */
  onCheckpoint(checkpoint: ReplayCheckpoint): void;
}

/** Longest wait for a batch that was started. */
const SETTLE_MS = 120_000;

/** Longest wait for what is to be parked: where Temporal knows the workflow already, nothing is parked anew. */
const PARK_MS = 10_000;

/** Changes something, and is waited for. */
const OPEN: ReadonlySet<string> = new Set(['would-apply', 'would-create'] satisfies Judged['verdict'][]);
const TO_PARK: ReadonlySet<string> = new Set(['conflict', 'would-refuse'] satisfies Judged['verdict'][]);

/** @throws Error when no worker carries out what was started; the checkpoint stands before it */
export async function applySpan(settings: ApplySettings): Promise<{ records: number; notes: string[] }> {
  const { checkpoint, signal } = settings;
  const pace = new Pace(settings.perSecond);
  let records = 0;
  return readSpans({
    ...settings,
    spans: checkpoint.spans,
    chunk: Math.min(500, Math.max(1, Math.ceil(settings.perSecond))),
    onRecords: async (batch, partition) => {
      const became = await applyBatch(batch, settings, pace);
      for (const [what, count] of Object.entries(became)) add(checkpoint.done, what as keyof Counts, count);
      const next = BigInt(batch.at(-1)!.offset) + 1n;
      checkpoint.spans = checkpoint.spans.map((span) =>
        span.partition === partition ? { ...span, from: next } : span,
      );
      settings.onCheckpoint(checkpoint);
      settings.onProgress((records += batch.length));
    },
    signal,
  });
}

/** Records of one document one after the other, as the forecast read them; all others at once. */
async function applyBatch(batch: KafkaRecord[], settings: ApplySettings, pace: Pace): Promise<Counts> {
  const counts: Counts = {};
  for (let left = batch; left.length > 0;) {
    const documents = new Set<string>();
    const later: KafkaRecord[] = [];
    const now = left.filter((record) => {
      const decoded = settings.decode(record);
      if (decoded.became !== 'command' || !('referenceId' in decoded.command.input)) return true;
      const { referenceType, referenceId } = decoded.command.input;
      const document = `${referenceType}/${referenceId}`;
      if (!documents.has(document)) return documents.add(document);
      later.push(record);
      return false;
    });
    for (const verdict of await applyTogether(now, settings, pace)) add(counts, verdict);
    left = later;
  }
  return counts;
}

/** What each record came to, in the words of the forecast. */
async function applyTogether(
  records: readonly KafkaRecord[],
  settings: ApplySettings,
  pace: Pace,
): Promise<Judged['verdict'][]> {
  const { database, policy, starter, signal } = settings;
  // As the ledger stands now, each time anew: what was started before is in it.
  const judge = (of: readonly KafkaRecord[]) =>
    judgeRecords(of, { decode: settings.decode, forecast: new Forecast(database, policy) });
  const isOpen = ({ verdict }: Judged) => OPEN.has(verdict);
  const isToPark = ({ verdict }: Judged) => TO_PARK.has(verdict);
  const before = await judge(records);
  // As a live event would; all else the ledger has answered for good.
  const toStart = before.filter((one) => isOpen(one) || isToPark(one) || one.verdict === 'unknown-stock');
  if (toStart.length > 0) {
    await pace.take(toStart.length, signal);
    await startAll(
      starter,
      toStart.flatMap(({ command }) => command ?? []),
      signal,
    );
  }
  let after = before;
  const look = async () => (after = await judge(records));
  if (before.some(isOpen) && !(await settled(async () => !(await look()).some(isOpen), SETTLE_MS))) {
    throw new Error(`what was started is not carried out within ${SETTLE_MS / 1_000} s: does a worker run?`);
  }
  if (before.some(isToPark)) await settled(async () => !(await look()).some(isToPark), PARK_MS);
  return before.map((was, index) => cameTo(was, after[index]!, settings.checkpoint.startedAt));
}

/** The forecast's word for it: what this replay did is what was to be done, not what was there before. */
function cameTo(before: Judged, after: Judged, startedAt: string): Judged['verdict'] {
  if (before.verdict === 'would-create' && after.verdict === 'already-there') return 'would-create';
  const of = 'of' in after ? after.of : undefined;
  // Times of one machine and of the workers' may differ a little; then the counts differ, the stock does not.
  if (!of || of.recordedAt < startedAt) return after.verdict;
  const { record } = after;
  const own = of.source.partition === record.partition && of.source.offset === record.offset;
  if (!own || of.source.topic !== record.topic) return 'repeated';
  if (after.verdict === 'already-applied') return 'would-apply';
  return after.verdict === 'parked' && TO_PARK.has(before.verdict) ? before.verdict : after.verdict;
}
