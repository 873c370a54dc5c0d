/**
 * The chain of one stock, checked entry by entry, without input or output. Nothing but the chain's end and its
 * unexplained jumps is kept, so that a stock with millions of entries needs no more memory than one with two.
 *
 * A **jump** at sequence n is what the balance moved by, right before entry n, without an entry. A repair entry
 * (`repairs.sequence = n`) accounts for it with its delta and moves nothing itself: afterwards
 * opening + Σ deltas = on hand holds again, and the jump stays visible for ever.
 */
import Big from 'big.js';
import { readOnHand } from './decimals';
import type { Finding } from './auditFinding';

/** What the check needs of a ledger entry. Fields may hold anything: people edit databases. */
export interface ChainEntry {
  _id: string;
  inventoryStockId: string;
  sequence: number;
  delta: unknown;
  onHandAfter: unknown;
  belowZero?: unknown;
  repairs?: { sequence: number; missingFrom?: number };
}

export interface ChainStock {
  onHand: unknown;
  sequence?: unknown;
}

/** Where a chain was when it was last found whole. */
export interface ChainStart {
  sequence: number;
  balance: Big;
}

interface Jump {
  amount: Big;
  /** First sequence that is missing before the jump's own. */
  missingFrom?: number;
  /** The entry that shows the jump; none when it is the stock itself that differs. */
  shownBy?: string;
}

const ZERO = new Big(0);

export class StockChain {
  private sequence: number;
  private balance: Big | undefined;
  private anyMarked: boolean;
  private lastId = '';
  private entries = 0;
  private readonly jumps = new Map<number, Jump>();
  private readonly repairs = new Map<number, { amount: Big; missingFrom: number }>();
  private readonly findings: Finding[] = [];

  constructor(
    readonly stockId: string,
    start?: ChainStart,
  ) {
    this.sequence = start?.sequence ?? 0;
    this.balance = start?.balance;
    this.anyMarked = start?.balance.lt(0) ?? false;
  }

  /** Entries in order of their sequence. */
  add(entry: ChainEntry): void {
    this.entries++;
    let delta: Big;
    let after: Big;
    try {
      delta = readOnHand(entry.delta);
      after = readOnHand(entry.onHandAfter);
    } catch {
      this.find('chain', 'unreadable', entry._id, 'delta or onHandAfter is no finite number');
      // Its place is taken; what it did shows as a jump at the next one.
      this.sequence = Math.max(this.sequence, Number(entry.sequence));
      return;
    }
    const sequence = Number(entry.sequence);
    if (sequence === this.sequence && this.entries > 1) {
      this.find('chain', 'fork', entry._id, `claims sequence ${sequence}, as ${this.lastId} does`);
      return;
    }
    const step = entry.repairs ? ZERO : delta;
    const before = after.minus(step);
    const amount = before.minus(this.balance ?? before);
    const missing = sequence > this.sequence + 1;
    if (missing || !amount.eq(0)) {
      this.jumps.set(sequence, {
        amount,
        shownBy: entry._id,
        ...(missing ? { missingFrom: this.sequence + 1 } : {}),
      });
    }
    if (entry.repairs) this.repair(entry.repairs, delta);
    else if (delta.lt(0) && after.lt(0) && entry.belowZero !== true) {
      this.find('negative', 'unmarked', entry._id, `left ${after.toFixed()} and is not marked belowZero`);
    }
    this.anyMarked ||= entry.belowZero === true;
    this.sequence = sequence;
    this.balance = after;
    this.lastId = entry._id;
  }

  /**
   * @param stock undefined when there is no document
   * @returns what is wrong, and where the chain ends if nothing is
   */
  end(stock: ChainStock | undefined): { findings: Finding[]; end?: ChainStart } {
    if (stock === undefined) {
      this.find(
        'entry',
        'no-stock',
        this.stockId,
        `${this.entries} entries, but no document in inventory_stock`,
      );
    } else this.compare(stock);
    this.settle();
    const end =
      this.findings.length === 0 && this.balance !== undefined
        ? { end: { sequence: this.sequence, balance: this.balance } }
        : {};
    return { findings: this.findings, ...end };
  }

  /** Where the chain stands after the entries so far, if all of them are explained. */
  whole(): ChainStart | undefined {
    if (this.findings.length > 0 || this.balance === undefined) return undefined;
    for (const sequence of new Set([...this.jumps.keys(), ...this.repairs.keys()])) {
      if (this.unexplained(sequence)) return undefined;
    }
    return { sequence: this.sequence, balance: this.balance };
  }

  private compare(stock: ChainStock): void {
    let onHand: Big;
    try {
      onHand = readOnHand(stock.onHand);
    } catch (error) {
      this.find('on-hand', 'unreadable', this.stockId, (error as Error).message);
      return;
    }
    // A stock that another system brought in has no sequence: it goes on after its last entry.
    const sequence = stock.sequence === undefined ? this.sequence : Number(stock.sequence);
    if (sequence < this.sequence) {
      this.find(
        'chain',
        'sequence-behind',
        this.stockId,
        `the stock says sequence ${sequence}, its last entry has ${this.sequence}: nothing can be posted; ` +
          `restore the stock's sequence to ${this.sequence}`,
      );
    }
    const amount = onHand.minus(this.balance ?? onHand);
    const missing = sequence > this.sequence;
    if (missing || !amount.eq(0)) {
      const next = Math.max(sequence, this.sequence) + 1;
      this.jumps.set(next, { amount, ...(missing ? { missingFrom: this.sequence + 1 } : {}) });
    }
    if (onHand.lt(0) && !this.anyMarked) {
      this.find(
        'negative',
        'unmarked',
        this.stockId,
        `stands at ${onHand.toFixed()}, and no entry is marked belowZero`,
      );
    }
    this.balance = onHand;
    this.sequence = Math.max(sequence, this.sequence);
  }

  private repair({ sequence, missingFrom }: { sequence: number; missingFrom?: number }, delta: Big): void {
    const known = this.repairs.get(sequence);
    this.repairs.set(sequence, {
      amount: (known?.amount ?? ZERO).plus(delta),
      missingFrom: Math.min(known?.missingFrom ?? Infinity, missingFrom ?? Infinity),
    });
  }

  /** Jumps that no repair accounts for, and repairs that account for no jump. */
  private settle(): void {
    for (const sequence of new Set([...this.jumps.keys(), ...this.repairs.keys()])) {
      const open = this.unexplained(sequence);
      if (!open) continue;
      const { jump, left, gap } = open;
      const missingFrom = jump.missingFrom ?? sequence;
      this.findings.push({
        check: jump.shownBy === undefined && !gap ? 'on-hand' : 'chain',
        problem: gap ? 'gap' : jump.shownBy === undefined ? 'drift' : 'step',
        key: jump.shownBy ?? this.stockId,
        stockId: this.stockId,
        text: gap ? gapText(missingFrom, sequence - 1, left) : jumpText(jump, sequence, left),
        repair: {
          stockId: this.stockId,
          delta: left.toFixed(),
          repairs: { sequence, ...(gap ? { missingFrom } : {}) },
        },
      });
    }
  }

  /** What of the jump at a place no repair accounts for, and of a repair no jump; undefined when all is. */
  private unexplained(sequence: number): { jump: Jump; left: Big; gap: boolean } | undefined {
    const jump = this.jumps.get(sequence) ?? { amount: ZERO };
    const repaired = this.repairs.get(sequence);
    const left = jump.amount.minus(repaired?.amount ?? ZERO);
    const { missingFrom } = jump;
    const gap = missingFrom !== undefined && !(repaired && repaired.missingFrom <= missingFrom);
    return left.eq(0) && !gap ? undefined : { jump, left, gap };
  }

  private find(check: Finding['check'], problem: Finding['problem'], key: string, text: string): void {
    this.findings.push({ check, problem, key, stockId: this.stockId, text });
  }
}

function gapText(from: number, to: number, amount: Big): string {
  const which = from === to ? `entry ${from} is missing` : `entries ${from} to ${to} are missing`;
  return `${which}; the balance moved by ${signed(amount)} there`;
}

function jumpText(jump: Jump, sequence: number, amount: Big): string {
  if (jump.shownBy !== undefined) {
    return `the balance moved by ${signed(amount)} right before entry ${sequence}, without an entry`;
  }
  return `on hand differs from the ledger by ${signed(amount)} after entry ${sequence - 1}`;
}

export function signed(amount: Big): string {
  return amount.gt(0) ? `+${amount.toFixed()}` : amount.toFixed();
}
