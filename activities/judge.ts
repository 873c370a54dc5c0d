/**
 * The rules of the ledger, once, without input or output: what each command of a list means for the entries and
 * stocks that were read. `post.ts` reads before and writes after, in one transaction.
 */
import Big from 'big.js';
import {
  referenceKey,
  trackingId,
  type Difference,
  type Leg,
  type MoveStock,
  type MoveStockResult,
  type PostedLeg,
  type ReferenceType,
} from '../commands';
import { fromDecimal128, readOnHand, toDecimal128 } from './decimals';
import { Long, type InventoryStock, type TrackingEntry } from './models';

/** A command and the workflow run that asks for it. */
export interface Posting {
  command: MoveStock;
  workflowId: string;
  runId: string;
}

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
}

export interface Judgement {
  /** One per posting, in the order of the list. */
  results: MoveStockResult[];
  /** New entries in the order of the list. */
  entries: TrackingEntry[];
  /** Summed change and new sequence of each stock touched. */
  stocks: Map<string, { inc: Big; sequence: number }>;
}

/** A stock whose document breaks the ledger's rules: no retry helps until a person mends it. */
export class BrokenStockError extends Error {
  override readonly name = 'BrokenStockError';
  constructor(stockId: string, cause: unknown) {
    super(
      `stock ${JSON.stringify(stockId)} in inventory_stock: ${cause instanceof Error ? cause.message : String(cause)}; ` +
        'mend the document, the command is tried again by itself',
      { cause },
    );
  }
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
  const books = new Books(snapshot);
  const judgement: Judgement = { results: [], entries: [], stocks: new Map() };
  for (const posting of postings) {
    const recorded = recordedResult(posting, books.entriesOf(posting.command));
    judgement.results.push(recorded ?? books.tryApply(posting, policy, now, judgement));
  }
  return judgement;
}

/**
 * What the ledger alone says of a command: the answer of an earlier try of this very run, DUPLICATE when the
 * document stands in the ledger as asked, CONFLICT when it stands there otherwise, undefined when it is new.
 */
export function recordedResult(
  posting: Posting,
  recorded: readonly TrackingEntry[],
): MoveStockResult | undefined {
  if (recorded.length === 0) return undefined;
  const { command } = posting;
  const own = recorded.filter((entry) => isOwn(entry, posting));
  if (own.length > 0) {
    const legs = own.map(postedLeg).sort((a, b) => (a.inventoryStockId < b.inventoryStockId ? -1 : 1));
    return { outcome: 'APPLIED', legs };
  }

  const attempts = [...new Set(recorded.map((entry) => entry.attempt))].sort((a, b) => a - b);
  for (const attempt of attempts) {
    const upTo = recorded.filter((entry) => entry.attempt <= attempt);
    if (differences(command.legs, totals(upTo)).length === 0) {
      const first = upTo.find((entry) => entry.attempt === attempt)!;
      return {
        outcome: 'DUPLICATE',
        of: {
          workflowId: first.workflowId,
          source: sourceOf(first),
          recordedAt: first.recordedAt.toISOString(),
        },
      };
    }
  }
  const last = recorded[recorded.length - 1]!;
  return {
    outcome: 'CONFLICT',
    differences: differences(command.legs, totals(recorded)),
    of: { workflowId: last.workflowId, source: sourceOf(last), recordedAt: last.recordedAt.toISOString() },
  };
}

/** Entries and stocks as they stand while the list is judged. */
class Books {
  private readonly byReference = new Map<string, TrackingEntry[]>();
  private readonly stocks = new Map<string, { onHand: Big; sequence: number }>();

  constructor(snapshot: Snapshot) {
    for (const entry of snapshot.entries) this.remember(entry);
    for (const stock of snapshot.stocks) {
      try {
        this.stocks.set(stock._id, { onHand: readOnHand(stock.onHand), sequence: stock.sequence });
      } catch (error) {
        throw new BrokenStockError(stock._id, error);
      }
    }
  }

  entriesOf(command: MoveStock): readonly TrackingEntry[] {
    return this.byReference.get(referenceKey(command.referenceType, command.referenceId)) ?? [];
  }

  /** All legs, or a reason why none. */
  tryApply(posting: Posting, policy: Policy, now: Date, judgement: Judgement): MoveStockResult {
    const { command } = posting;
    const missing = command.legs.map((leg) => leg.inventoryStockId).filter((id) => !this.stocks.has(id));
    if (missing.length > 0) return { outcome: 'UNKNOWN_STOCK', missing };

    const short = command.legs
      .map((leg) => ({ leg, onHand: this.stocks.get(leg.inventoryStockId)!.onHand }))
      .filter(({ leg, onHand }) => leg.delta.startsWith('-') && onHand.plus(leg.delta).lt(0));
    if (short.length > 0 && policy.belowZeroRefuse.has(command.referenceType)) {
      return {
        outcome: 'REFUSED',
        short: short.map(({ leg, onHand }) => ({
          inventoryStockId: leg.inventoryStockId,
          onHand: onHand.toFixed(),
          wanted: leg.delta.slice(1),
        })),
      };
    }
    return { outcome: 'APPLIED', legs: command.legs.map((leg) => this.apply(leg, posting, now, judgement)) };
  }

  private apply(
    leg: Leg,
    { command, workflowId, runId }: Posting,
    now: Date,
    judgement: Judgement,
  ): PostedLeg {
    const stock = this.stocks.get(leg.inventoryStockId)!;
    stock.onHand = stock.onHand.plus(leg.delta);
    stock.sequence += 1;
    const change = judgement.stocks.get(leg.inventoryStockId);
    judgement.stocks.set(leg.inventoryStockId, {
      inc: (change?.inc ?? new Big(0)).plus(leg.delta),
      sequence: stock.sequence,
    });
    const entry: TrackingEntry = {
      _id: trackingId(command.referenceType, command.referenceId, leg.inventoryStockId),
      referenceType: command.referenceType,
      referenceId: command.referenceId,
      inventoryStockId: leg.inventoryStockId,
      attempt: 1,
      delta: toDecimal128(new Big(leg.delta)),
      onHandAfter: this.balance(leg.inventoryStockId, stock.onHand),
      sequence: stock.sequence,
      outcome: 'APPLIED',
      // Only an entry that takes stock away can be to blame for a balance below zero.
      belowZero: leg.delta.startsWith('-') && stock.onHand.lt(0),
      occurredAt: new Date(command.occurredAt),
      recordedAt: now,
      source: { ...command.source, offset: Long.fromString(command.source.offset) },
      workflowId,
      runId,
    };
    judgement.entries.push(entry);
    this.remember(entry);
    return postedLeg(entry);
  }

  private balance(stockId: string, onHand: Big) {
    try {
      return toDecimal128(onHand);
    } catch (error) {
      throw new BrokenStockError(stockId, error);
    }
  }

  private remember(entry: TrackingEntry): void {
    const key = referenceKey(entry.referenceType, entry.referenceId);
    const entries = this.byReference.get(key);
    if (entries) entries.push(entry);
    else this.byReference.set(key, [entry]);
  }
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

/** Net effect of entries on each stock. */
function totals(entries: readonly TrackingEntry[]): Map<string, Big> {
  const sums = new Map<string, Big>();
  for (const entry of entries) {
    const sum = sums.get(entry.inventoryStockId) ?? new Big(0);
    sums.set(entry.inventoryStockId, sum.plus(fromDecimal128(entry.delta)));
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

function postedLeg(entry: TrackingEntry): PostedLeg {
  return {
    inventoryStockId: entry.inventoryStockId,
    delta: fromDecimal128(entry.delta).toFixed(),
    onHandAfter: fromDecimal128(entry.onHandAfter).toFixed(),
    belowZero: entry.belowZero,
  };
}

function sourceOf(entry: TrackingEntry) {
  return { ...entry.source, offset: entry.source.offset.toString() };
}
