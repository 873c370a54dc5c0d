/**
 * The rules of the ledger, once, without input or output: what each command of a list means for the entries and
 * stocks that were read. `post.ts` reads before and writes after, in one transaction; `attempts.ts` says what the
 * entries of a reference mean, `books.ts` keeps count.
 */
import type Big from 'big.js';
import type { Leg, MoveStock, MoveStockResult, PostedLeg, ReferenceType } from '../commands';
import {
  DEFAULT_PARK_DEADLINE_MS,
  DEFAULT_UNKNOWN_STOCK_WAIT_MS,
  isHindered,
  type Decided,
  type Hindrance,
  type Parked,
  type Reopening,
} from '../decisions';
import { asks, conflict, readAttempts, recordedBy, recordedResult } from './attempts';
import { Books, BrokenStockError } from './books';
import type { InventoryStock, TrackingEntry } from './models';

export { BrokenStockError, recordedResult };

/** The stock is not where the person who adjusts it saw it: nothing is written, the person looks again. */
export class StockMovedError extends Error {
  override readonly name = 'StockMovedError';
}

/** A command and the workflow run that asks for it. */
export interface Posting {
  command: MoveStock;
  workflowId: string;
  runId: string;
  /** Left out: apply the command if nothing stands against it, write nothing otherwise. */
  ask?: Ask;
}

/** What a workflow asks for a command that could not be applied as it is. */
export type Ask =
  /** Take its keys without effect on stock, so that it waits for a decision; a refusal re-opened is passed over. */
  | { kind: 'park'; reopening?: Reopening }
  /** Carry out a decision on what this workflow parked. `asOf` is the attempt that a correction was based on. */
  | { kind: 'decide'; decided: Decided; asOf?: number };

/** What the ledger and the stocks held when the transaction read them. */
export interface Snapshot {
  /** All entries of every reference in the list. */
  entries: readonly TrackingEntry[];
  /** Every stock in the list that exists, with a sequence. */
  stocks: readonly (InventoryStock & { sequence: number })[];
}

export interface Policy {
  /** Reference types whose commands are refused rather than take a stock below zero. */
  belowZeroRefuse: ReadonlySet<ReferenceType>;
  /** How long a command waits for its stock before it is parked; 24 hours. */
  unknownStockWaitMs?: number;
  /** How long a parked command waits for a decision before it is refused; 30 days. */
  parkDeadlineMs?: number;
}

export interface Judgement {
  /** One per posting, in the order of the list. */
  results: MoveStockResult[];
  /** New entries in the order of the list. */
  entries: TrackingEntry[];
  /** Summed change and new sequence of each stock touched. */
  stocks: Map<string, { inc: Big; sequence: number }>;
}

/**
 * Judges a list of commands in order; each sees what the ones before it did.
 * @param now time of recording
 * @throws BrokenStockError
 */
export function judge(
  postings: readonly Posting[],
  snapshot: Snapshot,
  policy: Policy,
  now: Date,
): Judgement {
  const books = new Books(snapshot, now);
  const results = postings.map((posting) => {
    const recorded = recordedResult(posting, books.entriesOf(posting.command));
    if (!posting.ask) return recorded ?? tryApply(posting, books, policy);
    return posting.ask.kind === 'park'
      ? park(posting, posting.ask.reopening, recorded, books, policy)
      : decide(posting, posting.ask, recorded, books, policy);
  });
  return { results, entries: books.written, stocks: books.changes };
}

/** Every stock that the judgement of a posting may need. */
export function stocksOf({ command, ask }: Posting, entries: readonly TrackingEntry[]): string[] {
  const stocks = command.legs.map((leg) => leg.inventoryStockId);
  if (ask === undefined) return stocks;
  // A correction gives back what was taken from stocks that the document has no more.
  return [
    ...stocks,
    ...entries
      .filter((e) => e.referenceId === command.referenceId && e.referenceType === command.referenceType)
      .map((entry) => entry.inventoryStockId),
  ];
}

/** All legs, or a reason why none. */
function tryApply(posting: Posting, books: Books, policy: Policy, decided?: Decided): MoveStockResult {
  const { command } = posting;
  const evenBelowZero = decided?.decision === 'force';
  if (!decided) refuseMoved(command, books);
  return (
    hindrance(command, books, policy, evenBelowZero) ??
    applied(books.apply(posting, command.legs, decided), decided)
  );
}

/** @throws StockMovedError */
function refuseMoved({ legs, adjustment }: MoveStock, books: Books): void {
  const expected = adjustment?.expectOnHand;
  const onHand = books.onHand(legs[0]!.inventoryStockId);
  if (expected === undefined || onHand === undefined || onHand.eq(expected)) return;
  throw new StockMovedError(`on hand is ${onHand.toFixed()} by now, not ${expected}`);
}

/** What the stocks have against a command. */
function hindrance(
  { legs, referenceType, adjustment }: MoveStock,
  books: Books,
  policy: Policy,
  evenBelowZero = false,
): Hindrance | undefined {
  const missing = unknown(legs, books);
  if (missing.length > 0) {
    return unknownStock(missing, policy);
  }
  // A repair takes nothing away: it accounts for what is gone already.
  if (evenBelowZero || adjustment?.repairs || !policy.belowZeroRefuse.has(referenceType)) return undefined;
  const short = legs
    .map((leg) => ({ leg, onHand: books.onHand(leg.inventoryStockId)! }))
    .filter(({ leg, onHand }) => leg.delta.startsWith('-') && onHand.plus(leg.delta).lt(0))
    .map(({ leg: { inventoryStockId, delta }, onHand }) => ({
      inventoryStockId,
      onHand: onHand.toFixed(),
      wanted: delta.slice(1),
    }));
  return short.length > 0 ? { outcome: 'REFUSED', short } : undefined;
}

/** Applies the command if by now it can be, parks it otherwise. What is parked already is not applied by itself. */
function park(
  posting: Posting,
  reopening: Reopening | undefined,
  recorded: MoveStockResult | undefined,
  books: Books,
  policy: Policy,
): MoveStockResult {
  const { command } = posting;
  const attempts = readAttempts(books.entriesOf(command));
  if (isHere(recorded, posting)) {
    const against =
      conflict(command, attempts) ?? hindrance(command, books, policy) ?? none(recorded, policy);
    return here(recorded, against, policy);
  }
  // Two who re-open one refusal start the same workflow; and a refusal is re-opened once.
  const reopens =
    recorded?.outcome === 'REFUSED' &&
    reopening?.attempt === attempts.findLast((attempt) => asks(attempt, command.legs))?.number;
  if (recorded && recorded.outcome !== 'CONFLICT' && !reopens) return recorded;

  const decided: Decided | undefined = reopening && {
    decision: 'reopen',
    actor: reopening.actor,
    reason: reopening.reason,
  };
  const result = conflict(command, attempts, reopens) ?? tryApply(posting, books, policy, decided);
  if (!isHindered(result)) return result;
  const entries = books.note(posting, { parked: result.outcome }, decided);
  const of = recordedBy({ number: entries[0]!.attempt, outcome: 'PARKED', entries });
  return here({ outcome: 'PARKED', case: result.outcome, of }, result, policy);
}

/** Carries out a decision, unless the command is settled already or something else stands in the way by now. */
function decide(
  posting: Posting,
  { decided, asOf }: Extract<Ask, { kind: 'decide' }>,
  recorded: MoveStockResult | undefined,
  books: Books,
  policy: Policy,
): MoveStockResult {
  const { command } = posting;
  if (recorded === undefined || isHindered(recorded))
    return park(posting, undefined, recorded, books, policy);
  if (!isHere(recorded, posting)) return recorded;

  const attempts = readAttempts(books.entriesOf(command));
  const parkedAgain = (against: Hindrance) => here(recorded, against, policy);
  switch (decided.decision) {
    case 'discard': {
      const entries = books.note(posting, 'REFUSED', decided);
      const of = recordedBy({ number: entries[0]!.attempt, outcome: 'REFUSED', entries });
      return { outcome: 'REFUSED', decided, of };
    }
    case 'correct': {
      const against = conflict(command, attempts);
      if (!against) return parkedAgain(hindrance(command, books, policy) ?? none(recorded, policy));
      // Somebody else's correction came in between: the person decided on other numbers.
      if (asOf !== undefined && against.asOf !== asOf) return parkedAgain(against);
      const legs: Leg[] = against.differences.map(({ inventoryStockId, difference }) => ({
        inventoryStockId,
        delta: difference,
      }));
      const missing = unknown(legs, books);
      if (missing.length > 0) {
        return parkedAgain(unknownStock(missing, policy));
      }
      return applied(books.apply(posting, legs, decided, against.asOf || undefined), decided);
    }
    default: {
      // A forced document may stand beside versions that only wait or were refused, but never on top of an effect.
      const against = conflict(command, attempts, decided.decision === 'force');
      const result = against ?? tryApply(posting, books, policy, decided);
      return isHindered(result) ? parkedAgain(result) : result;
    }
  }
}

/** Whether the asking workflow is the one in which the command is parked, in this run or an earlier one. */
function isHere(recorded: MoveStockResult | undefined, { workflowId }: Posting): recorded is Parked {
  return recorded?.outcome === 'PARKED' && recorded.of.workflowId === workflowId;
}

function here(parked: Parked, against: Hindrance, policy: Policy): Parked {
  const deadlineMs = policy.parkDeadlineMs ?? DEFAULT_PARK_DEADLINE_MS;
  const until = new Date(Date.parse(parked.of.recordedAt) + deadlineMs).toISOString();
  return { ...parked, here: { against, until } };
}

/** The case as it was recorded, when nothing stands against the command any more: still only a person applies it. */
function none(parked: Parked, policy: Policy): Hindrance {
  return parked.case === 'UNKNOWN_STOCK' ? unknownStock([], policy) : { outcome: 'REFUSED', short: [] };
}

function unknownStock(missing: string[], { unknownStockWaitMs }: Policy): Hindrance {
  return { outcome: 'UNKNOWN_STOCK', missing, waitMs: unknownStockWaitMs ?? DEFAULT_UNKNOWN_STOCK_WAIT_MS };
}

function unknown(legs: readonly Leg[], books: Books): string[] {
  return legs.map((leg) => leg.inventoryStockId).filter((id) => books.onHand(id) === undefined);
}

function applied(legs: PostedLeg[], decided?: Decided): MoveStockResult {
  return { outcome: 'APPLIED', legs, ...(decided ? { decided } : {}) };
}
