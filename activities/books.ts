/** Entries and stocks as they stand while a list of commands is judged: what was read, and what is to be written. */
import Big from 'big.js';
import { referenceKey, trackingId, type Leg, type MoveStock, type PostedLeg } from '../commands';
import type { Case, Decided } from '../decisions';
import { readOnHand, toDecimal128 } from './decimals';
import type { Posting, Snapshot } from './judge';
import { Long, type EffectEntry, type NoteEntry, type TrackingEntry } from './models';

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

/** Decimal128 zero, the effect of an entry that only takes its key. */
const NO_EFFECT = toDecimal128(new Big(0));

export class Books {
  /** New entries in the order of the list. */
  readonly written: TrackingEntry[] = [];
  /** Summed change and new sequence of each stock touched. */
  readonly changes = new Map<string, { inc: Big; sequence: number }>();
  private readonly byReference = new Map<string, TrackingEntry[]>();
  private readonly stocks = new Map<string, { onHand: Big; sequence: number }>();

  /** @throws BrokenStockError */
  constructor(
    snapshot: Snapshot,
    private readonly now: Date,
  ) {
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

  /** Balance of a stock, undefined when it does not exist. */
  onHand(stockId: string): Big | undefined {
    return this.stocks.get(stockId)?.onHand;
  }

  /** Adds the legs, whose stocks exist, to their stocks as a new attempt. */
  apply(posting: Posting, legs: readonly Leg[], decided?: Decided, correctionOf?: number): PostedLeg[] {
    const attempt = this.nextAttempt(posting.command);
    const repairs = posting.command.adjustment?.repairs;
    return legs.map(({ inventoryStockId, delta }, line) => {
      const stock = this.stocks.get(inventoryStockId)!;
      // What a repair accounts for has moved the stock already.
      const moved = new Big(repairs ? 0 : delta);
      stock.onHand = stock.onHand.plus(moved);
      stock.sequence += 1;
      const change = this.changes.get(inventoryStockId);
      if (change) {
        change.inc = change.inc.plus(moved);
        change.sequence = stock.sequence;
      } else this.changes.set(inventoryStockId, { inc: moved, sequence: stock.sequence });
      // Only an entry that takes stock away can be to blame for a balance below zero.
      const belowZero = delta.startsWith('-') && stock.onHand.lt(0);
      const entry = this.entry(posting, inventoryStockId, attempt, line, decided) as EffectEntry;
      entry.outcome = 'APPLIED';
      entry.delta = toDecimal128(repairs ? new Big(delta) : moved);
      entry.onHandAfter = this.balance(inventoryStockId, stock.onHand);
      entry.sequence = stock.sequence;
      entry.belowZero = belowZero;
      if (correctionOf !== undefined) entry.correctionOf = correctionOf;
      if (repairs) entry.repairs = repairs;
      this.write(entry);
      return { inventoryStockId, delta, onHandAfter: stock.onHand.toFixed(), belowZero };
    });
  }

  /** Takes the keys of all legs as a new attempt, without effect on stock. */
  note(posting: Posting, about: { parked: Case } | 'REFUSED', decided?: Decided): NoteEntry[] {
    const attempt = this.nextAttempt(posting.command);
    return posting.command.legs.map((leg, line) => {
      const entry = this.entry(posting, leg.inventoryStockId, attempt, line, decided) as NoteEntry;
      entry.outcome = about === 'REFUSED' ? 'REFUSED' : 'PARKED';
      if (about !== 'REFUSED') entry.case = about.parked;
      entry.delta = NO_EFFECT;
      entry.asked = toDecimal128(new Big(leg.delta));
      entry.belowZero = false;
      this.write(entry);
      return entry;
    });
  }

  /** What every entry has. Fields are set one by one: taking objects apart and together was the dearest part here. */
  private entry(
    { command, workflowId, runId }: Posting,
    inventoryStockId: string,
    attempt: number,
    line: number,
    decided: Decided | undefined,
  ): Omit<TrackingEntry, 'outcome' | 'delta' | 'belowZero'> {
    const { referenceType, referenceId, occurredAt, source, adjustment } = command;
    const { topic, partition, offset } = source;
    const entry: Omit<TrackingEntry, 'outcome' | 'delta' | 'belowZero'> = {
      _id: trackingId(referenceType, referenceId, inventoryStockId, attempt),
      referenceType,
      referenceId,
      inventoryStockId,
      attempt,
      line,
      occurredAt: new Date(occurredAt),
      recordedAt: this.now,
      source: { topic, partition, offset: Long.fromString(offset) },
      workflowId,
      runId,
    };
    if (adjustment) {
      entry.actor = adjustment.actor;
      entry.reason = adjustment.reason;
      if (adjustment.counted !== undefined) entry.counted = toDecimal128(new Big(adjustment.counted));
    }
    if (decided) {
      entry.decision = decided.decision;
      entry.actor = decided.actor;
      entry.reason = decided.reason;
    }
    return entry;
  }

  private nextAttempt(command: MoveStock): number {
    return 1 + this.entriesOf(command).reduce((most, { attempt }) => Math.max(most, attempt), 0);
  }

  private write(entry: TrackingEntry): void {
    this.written.push(entry);
    this.remember(entry);
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
