/**
 * READ AFTER commands.ts. The words for a command that needs a person, and the one table of what a person may
 * decide in which case. Workflows import this file, so it is deterministic as well.
 *
 * - **case**: why a command is parked. **decision**: what a person says about it.
 * - **attempt**: entries of one reference that were written together. Parking, every decision and every
 *   correction is a further attempt; the ones before stay as they are.
 */
import Big from 'big.js';
import { SEARCH_ATTRIBUTES } from './commands';
import type { Difference, MoveStock, MoveStockResult, Recorded } from './commands';

export const CASES = ['CONFLICT', 'REFUSED', 'UNKNOWN_STOCK'] as const;
/**
 * `CONFLICT`: the reference stands in the ledger with other quantities. `REFUSED`: policy refuses to take a stock
 * below zero. `UNKNOWN_STOCK`: a stock is still missing after the waiting time.
 */
export type Case = (typeof CASES)[number];

export const DECISIONS = ['retry', 'force', 'correct', 'discard'] as const;
export type Decision = (typeof DECISIONS)[number];

/** A decision as it stands in the ledger; `reopen` is the one that comes after a refusal. */
export interface Decided {
  decision: Decision | 'reopen';
  actor: string;
  reason: string;
}

/** What keeps a command from being applied now, as the ledger and the stocks were read. */
export type Hindrance =
  /** `asOf` is the attempt whose effect was compared, 0 when nothing of the reference has an effect yet. */
  | { outcome: 'CONFLICT'; differences: Difference[]; of: Recorded; asOf: number }
  /** The policy for the reference type refuses to take these stocks below zero. */
  | { outcome: 'REFUSED'; short: { inventoryStockId: string; onHand: string; wanted: string }[] }
  /** `waitMs` is how long a command waits for its stock before it is parked. */
  | { outcome: 'UNKNOWN_STOCK'; missing: string[]; waitMs: number };

/** The command waits for a decision in the workflow `of.workflowId`. */
export interface Parked {
  outcome: 'PARKED';
  /** Why it was parked. */
  case: Case;
  of: Recorded;
  /** Told to that workflow only: what stands against the command now, and when the deadline decides. */
  here?: { against: Hindrance; until: string };
}

/** Whether a command cannot be answered for good without waiting or a person. */
export function isHindered(result: MoveStockResult): result is Hindrance {
  return (
    result.outcome === 'CONFLICT' ||
    result.outcome === 'UNKNOWN_STOCK' ||
    (result.outcome === 'REFUSED' && 'short' in result)
  );
}

/** Who opens a refused attempt again, and why. */
export interface Reopening extends Pick<Decided, 'actor' | 'reason'> {
  /** The refused attempt. */
  attempt: number;
}

/** What the Update `resolve` of a parked workflow takes. */
export interface Resolution extends Omit<Decided, 'decision'> {
  decision: Decision;
  /** `correct`: the attempt that the person saw; left out, it is the one that the workflow shows. */
  asOf?: number;
}

/** What the Update `resolve` answers. */
export interface ResolveAnswer {
  /**
   * `decided`: this decision is the one recorded. `parked-again`: nothing was recorded, `result` says what stands
   * against it now. `decided-before`: another one is recorded, `result` says which.
   */
  became: 'decided' | 'parked-again' | 'decided-before';
  result: MoveStockResult;
}

/** What the Query `parked` answers. */
export interface ParkedView {
  command: MoveStock;
  case: Case;
  parkedAt: string;
  until: string;
  against: Hindrance;
  choices: Choice[];
}

/** One decision in one case. */
export interface Choice {
  decision: Decision;
  /** Whether it can be taken. */
  fits: boolean;
  /** What it would do, or why it cannot be taken. */
  does: string;
}

export const RESOLVE_UPDATE = 'resolve';
export const PARKED_QUERY = 'parked';
/** Signs the refusal of what nobody decided in time; no person may use it. */
export const DEADLINE_ACTOR = 'deadline';
export const MAX_ACTOR_CHARACTERS = 100;
export const MAX_REASON_CHARACTERS = 500;
/** A parked workflow's history grows with each look, so looks are bounded; a refusal re-opened starts a new one. */
export const MAX_RETRIES = 500;
const DAY_MS = 24 * 60 * 60_000;
export const DEFAULT_UNKNOWN_STOCK_WAIT_MS = DAY_MS;
export const DEFAULT_PARK_DEADLINE_MS = 30 * DAY_MS;
const SHOWN_STOCKS = 5;

/** Search attribute of a parked command, e.g. `PARKED/CONFLICT`. */
export function parkedAttribute(parkedCase: Case): string {
  return `PARKED/${parkedCase}`;
}

/** Finds parked commands in Temporal's visibility store. */
export const IS_PARKED = `ExecutionStatus = 'Running' AND ${SEARCH_ATTRIBUTES.outcome} IN (${CASES.map(
  (parkedCase) => `'${parkedAttribute(parkedCase)}'`,
).join(', ')})`;

/**
 * What each decision would do now.
 * @param name shows a stock ID, which comes from an event
 */
export function choices(against: Hindrance, name: (stockId: string) => string = (id) => id): Choice[] {
  const fit = (decision: Decision, does: string): Choice => ({ decision, fits: true, does });
  const unfit = (decision: Decision, does: string): Choice => ({ decision, fits: false, does });
  const discard = fit(
    'discard',
    'records the refusal; stock stays as it is, and later deliveries of this content are refused too',
  );
  switch (against.outcome) {
    case 'CONFLICT': {
      const posted = list(
        against.differences.map((d) => `${name(d.inventoryStockId)} ${signed(d.difference)}`),
      );
      return [
        fit('retry', 'compares with the ledger again; parks again while quantities differ'),
        unfit('force', 'the document would count on top of what is recorded: use correct'),
        fit('correct', `posts the difference, so that the ledger holds what the document asks: ${posted}`),
        discard,
      ];
    }
    case 'REFUSED': {
      const after = against.short.map(
        (s) => `${name(s.inventoryStockId)} to ${new Big(s.onHand).minus(s.wanted).toFixed()}`,
      );
      return [
        fit('retry', 'applies it if the stock suffices by now; parks again otherwise'),
        fit('force', `applies it although below zero: ${list(after)}`),
        unfit('correct', 'nothing is recorded that could be corrected: use force, or retry after a refill'),
        discard,
      ];
    }
    case 'UNKNOWN_STOCK':
      return [
        fit('retry', `applies it if all its stocks exist by now: ${list(against.missing.map(name))}`),
        unfit('force', 'there is no stock to apply it to: use retry once the catalogue has brought it'),
        unfit('correct', 'nothing is recorded that could be corrected: use retry once the stock exists'),
        discard,
      ];
  }
}

/**
 * Why a resolution cannot be taken, or undefined when it can.
 * @param against what stands against the command now
 */
export function fault(resolution: Resolution, against: Hindrance): string | undefined {
  const { decision, asOf } = (resolution ?? {}) as Partial<Resolution>;
  const choice = choices(against).find((candidate) => candidate.decision === decision);
  if (!choice) return `decision ${JSON.stringify(decision)} is none of ${DECISIONS.join(', ')}`;
  if (!choice.fits) return `${choice.decision} does not fit ${against.outcome}: ${choice.does}`;
  if (asOf !== undefined && !Number.isInteger(asOf)) return `asOf ${JSON.stringify(asOf)} is no attempt`;
  return signatureFault(resolution);
}

/** Why actor or reason cannot be taken, or undefined when they can. */
export function signatureFault({
  actor,
  reason,
}: Partial<Pick<Decided, 'actor' | 'reason'>>): string | undefined {
  for (const [field, value, limit] of [
    ['actor', actor, MAX_ACTOR_CHARACTERS],
    ['reason', reason, MAX_REASON_CHARACTERS],
  ] as const) {
    if (typeof value !== 'string' || value.trim() === '')
      return `${field} is empty: the ledger keeps who and why`;
    if (value.length > limit) return `${field} has ${value.length} characters, at most ${limit} are kept`;
  }
  if (actor === DEADLINE_ACTOR) return `actor ${DEADLINE_ACTOR} is not a person`;
  return undefined;
}

/** `correct by ana: typo at the till`. */
export function describeDecided({ decision, actor, reason }: Decided): string {
  return `${decision} by ${actor}: ${reason}`;
}

function signed(decimal: string): string {
  return decimal.startsWith('-') ? decimal : `+${decimal}`;
}

function list(texts: string[]): string {
  const shown = texts.slice(0, SHOWN_STOCKS);
  if (texts.length > SHOWN_STOCKS) shown.push(`and ${texts.length - SHOWN_STOCKS} more`);
  return shown.join(', ');
}
