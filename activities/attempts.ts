/**
 * What the entries of one reference say, without input or output. Entries are append-only, so the state of every
 * document that ever came under the reference follows from them alone. `judge.ts` says what to write next.
 */
import Big from 'big.js';
import type { Difference, Leg, MoveStock, MoveStockResult, PostedLeg, Recorded } from '../commands';
import type { Decided, Hindrance } from '../decisions';
import { fromDecimal128 } from './decimals';
import type { Posting } from './judge';
import type { EffectEntry, NoteEntry, TrackingEntry } from './models';

/** Entries of one reference that were written together. */
export type Attempt = { number: number } & (
  { outcome: 'APPLIED'; entries: EffectEntry[] } | { outcome: 'PARKED' | 'REFUSED'; entries: NoteEntry[] }
);

/** The attempts of a reference, oldest first. */
export function readAttempts(entries: readonly TrackingEntry[]): Attempt[] {
  const byNumber = new Map<number, Attempt>();
  for (const entry of [...entries].sort((a, b) => a.attempt - b.attempt || a.line - b.line)) {
    const attempt = byNumber.get(entry.attempt);
    if (attempt) (attempt.entries as TrackingEntry[]).push(entry);
    else {
      byNumber.set(entry.attempt, {
        number: entry.attempt,
        outcome: entry.outcome,
        entries: [entry],
      } as Attempt);
    }
  }
  return [...byNumber.values()];
}

/**
 * What the ledger alone says of a command: the answer of an earlier try of this very run, DUPLICATE when the
 * reference's total was the document after any attempt, PARKED or REFUSED when that is what became of this content
 * last, CONFLICT when the reference stands in the ledger otherwise, undefined when it is new.
 */
export function recordedResult(
  posting: Posting,
  entries: readonly TrackingEntry[],
): Exclude<MoveStockResult, { missing: string[] } | { short: unknown[] }> | undefined {
  if (entries.length === 0) return undefined;
  const { legs } = posting.command;
  const attempts = readAttempts(entries);
  for (const attempt of attempts) {
    if (attempt.outcome === 'APPLIED' && isOwn(attempt.entries[0]!, posting)) {
      const decided = decidedOf(attempt);
      return { outcome: 'APPLIED', legs: attempt.entries.map(postedLeg), ...(decided ? { decided } : {}) };
    }
  }
  for (const attempt of attempts) {
    if (attempt.outcome !== 'APPLIED') continue;
    if (differences(legs, totals(attempts, attempt.number)).length === 0) {
      return { outcome: 'DUPLICATE', of: recordedBy(attempt) };
    }
  }
  const last = attempts.findLast((attempt) => asks(attempt, legs));
  if (last?.outcome === 'PARKED') {
    return { outcome: 'PARKED', case: last.entries[0]!.case ?? 'CONFLICT', of: recordedBy(last) };
  }
  if (last?.outcome === 'REFUSED') {
    return { outcome: 'REFUSED', decided: decidedOf(last)!, of: recordedBy(last) };
  }
  return conflict(posting.command, attempts);
}

/**
 * The conflict of a command with the attempts that are not its own content's, if there is one. Without any effect
 * recorded it still is one: a version that was parked or refused is a question that a person has to see.
 * @param effectsOnly a person has the word: only what has an effect stands in the way
 */
export function conflict(
  { legs }: MoveStock,
  attempts: readonly Attempt[],
  effectsOnly = false,
): Extract<Hindrance, { outcome: 'CONFLICT' }> | undefined {
  const effective = attempts.findLast((attempt) => attempt.outcome === 'APPLIED');
  const other = effective ?? (effectsOnly ? undefined : attempts.findLast((attempt) => !asks(attempt, legs)));
  if (!other) return undefined;
  return {
    outcome: 'CONFLICT',
    differences: differences(legs, totals(attempts)),
    of: recordedBy(other),
    asOf: effective?.number ?? 0,
  };
}

/** Whether an attempt without effect is about exactly these legs. */
export function asks(attempt: Attempt, legs: readonly Leg[]): boolean {
  if (attempt.outcome === 'APPLIED' || attempt.entries.length !== legs.length) return false;
  const asked = new Map(attempt.entries.map((entry) => [entry.inventoryStockId, entry.asked]));
  return legs.every((leg) => {
    const quantity = asked.get(leg.inventoryStockId);
    return quantity !== undefined && fromDecimal128(quantity).eq(leg.delta);
  });
}

/** The person's word behind an attempt. */
export function decidedOf({ entries }: Attempt): Decided | undefined {
  const { decision, actor, reason } = entries[0]!;
  return decision === undefined ? undefined : { decision, actor: actor ?? '', reason: reason ?? '' };
}

export function recordedBy({ entries }: Attempt): Recorded {
  const { workflowId, source, recordedAt } = entries[0]!;
  return {
    workflowId,
    source: { ...source, offset: source.offset.toString() },
    recordedAt: recordedAt.toISOString(),
  };
}

export function postedLeg(entry: EffectEntry): PostedLeg {
  return {
    inventoryStockId: entry.inventoryStockId,
    delta: fromDecimal128(entry.delta).toFixed(),
    onHandAfter: fromDecimal128(entry.onHandAfter).toFixed(),
    belowZero: entry.belowZero,
  };
}

/** Written by an earlier try of the same run for the same delivery: its answer was lost on the way. */
function isOwn(entry: TrackingEntry, { command, workflowId, runId }: Posting): boolean {
  return (
    entry.runId === runId &&
    entry.workflowId === workflowId &&
    entry.source.topic === command.source.topic &&
    entry.source.partition === command.source.partition &&
    entry.source.offset.toString() === command.source.offset
  );
}

/** Net effect on each stock, up to and with an attempt. */
function totals(attempts: readonly Attempt[], upTo = Infinity): Map<string, Big> {
  const sums = new Map<string, Big>();
  for (const attempt of attempts) {
    if (attempt.number > upTo || attempt.outcome !== 'APPLIED') continue;
    for (const entry of attempt.entries) {
      const sum = sums.get(entry.inventoryStockId) ?? new Big(0);
      sums.set(entry.inventoryStockId, sum.plus(fromDecimal128(entry.delta)));
    }
  }
  return sums;
}

/** Where a document and the ledger differ, by stock; a stock that one side lacks counts as zero there. */
function differences(legs: readonly Leg[], recorded: ReadonlyMap<string, Big>): Difference[] {
  const asked = new Map(legs.map((leg) => [leg.inventoryStockId, new Big(leg.delta)]));
  const zero = new Big(0);
  return [...new Set([...asked.keys(), ...recorded.keys()])]
    .sort()
    .map((id) => ({ id, asked: asked.get(id) ?? zero, recorded: recorded.get(id) ?? zero }))
    .filter(({ asked, recorded }) => !asked.eq(recorded))
    .map(({ id, asked, recorded }) => ({
      inventoryStockId: id,
      recorded: recorded.toFixed(),
      asked: asked.toFixed(),
      difference: asked.minus(recorded).toFixed(),
    }));
}
