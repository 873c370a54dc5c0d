/** What an audit finds, and what repairs it. */
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import { sha256 } from '@noble/hashes/sha2';

export interface Finding {
  /**
   * - `on-hand`: a stock's on hand is its opening plus its entries
   * - `chain`: sequence and balances follow from one entry to the next
   * - `transfer`: a transfer has both legs, and they sum to zero
   * - `entry`: an entry belongs to a stock and has a place in its chain
   * - `negative`: below zero only where an entry is marked for it
   * - `topic`: topic and ledger agree
   * - `archive`: the opening of a stock says what its archived entries say
   */
  check: 'on-hand' | 'chain' | 'transfer' | 'entry' | 'negative' | 'topic' | 'archive';
  problem:
    | 'drift'
    | 'gap'
    | 'step'
    | 'fork'
    | 'unreadable'
    | 'sequence-behind'
    | 'no-stock'
    | 'no-place'
    | 'unmarked'
    | 'one-leg'
    | 'unbalanced'
    | 'not-in-ledger'
    | 'no-record'
    | 'opening'
    | 'other-record';
  /** The offending key: a stock, an entry, a reference, or `topic[partition]@offset`. */
  key: string;
  stockId?: string;
  /** One sentence. */
  text: string;
  repair?: Repair;
}

/** An entry that accounts for what moved without one: `delta` is recorded, the stock itself stays as it is. */
export interface Repair {
  stockId: string;
  delta: string;
  repairs: { sequence: number; missingFrom?: number };
}

/** Reference ID of a repair: the same for the same finding, so that a plan posted twice repairs once. */
export function repairId({ stockId, delta, repairs }: Repair): string {
  const content = JSON.stringify([stockId, delta, repairs.sequence, repairs.missingFrom ?? 0]);
  return `repair-${bytesToHex(sha256(utf8ToBytes(content))).slice(0, 16)}`;
}
