import { sleep } from '@temporalio/workflow';
import type { MoveStock, MoveStockResult } from '../commands';
import { adjustStock, checkTracking } from './activities';
import { refuseUnknownSchema } from './schema';
import { showOutcome, showResult } from './show';

/** Catalogue and business topics are not ordered: a stock is often only seconds late. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 10 * 60_000;

/**
 * Moves stock once: look into the ledger, then adjust stock and record it in one transaction. Every outcome is a
 * result, not a failure. A stock that does not exist yet is waited for.
 */
export async function moveStock(command: MoveStock): Promise<MoveStockResult> {
  refuseUnknownSchema(command.schema);
  let result = (await checkTracking(command)) ?? (await adjustStock(command));
  const waited = result.outcome === 'UNKNOWN_STOCK';
  if (waited) showOutcome(result.outcome);
  for (
    let waitMs = FIRST_WAIT_MS;
    result.outcome === 'UNKNOWN_STOCK';
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
  ) {
    showResult(result, `Looks again in ${waitMs / 1_000} s.`);
    await sleep(waitMs);
    result = await adjustStock(command);
  }
  if (waited || result.outcome !== 'APPLIED') showOutcome(result.outcome);
  showResult(result);
  return result;
}
