import { condition } from '@temporalio/workflow';
import type { MoveStock, MoveStockResult } from '../commands';
import { adjustStock } from './activities';
import { showOutcome, showResult } from './show';

/** Catalogue and business topics are not ordered: a stock is often only seconds late. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 10 * 60_000;

/**
 * Looks again with growing delays until the stock is there, the waiting time is over or a person interrupts.
 * @returns the last look's result
 */
export async function waitForStock(
  command: MoveStock,
  first: MoveStockResult,
  interrupted: () => boolean,
): Promise<MoveStockResult> {
  let result = first;
  const since = Date.now();
  for (
    let step = FIRST_WAIT_MS;
    result.outcome === 'UNKNOWN_STOCK';
    step = Math.min(step * 2, LONGEST_WAIT_MS)
  ) {
    // Each look brings the waiting time with it, so that a changed setting counts for those who wait already.
    const left = since + result.waitMs - Date.now();
    if (left <= 0 || interrupted()) break;
    const waitMs = Math.min(step, left);
    if (step === FIRST_WAIT_MS) showOutcome('UNKNOWN_STOCK');
    showResult(
      result,
      `Looks again in ${Math.ceil(waitMs / 1_000)} s; parked after ${waited(result.waitMs)}.`,
    );
    await condition(interrupted, waitMs);
    result = await adjustStock(command);
  }
  return result;
}

function waited(ms: number): string {
  return ms >= 3_600_000 ? `${+(ms / 3_600_000).toFixed(1)} h` : `${Math.ceil(ms / 1_000)} s`;
}
