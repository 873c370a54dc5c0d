import { workflowInfo } from '@temporalio/workflow';
import type { MoveStock, MoveStockResult } from '../commands';
import { isHindered, type Reopening } from '../decisions';
import { adjustStock, checkTracking, park } from './activities';
import { settle } from './parked';
import { refuseUnknownSchema } from './schema';
import { showOutcome, showResult } from './show';
import { onNewVersion } from './versioning';

// It may wait for its stock, or for a person, for weeks: pinned, every old version would have to stay up as long. So it
// moves along with each new version, and a change in what it calls, in which order, stands behind `patched`.
onNewVersion('AUTO_UPGRADE', moveStock);

/**
 * Moves stock once: look into the ledger, then adjust stock and record it in one transaction. Every outcome is a
 * result, not a failure. A stock that does not exist yet is waited for, and what must not be applied as it is waits
 * here for a person.
 * @param reopening opens a refusal of this very command again
 */
export async function moveStock(command: MoveStock, reopening?: Reopening): Promise<MoveStockResult> {
  refuseUnknownSchema(command.schema);
  const first = reopening
    ? await park(command, reopening)
    : ((await checkTracking(command)) ?? (await adjustStock(command)));
  const smooth = !isHindered(first) && !isParkedHere(first);
  const result = smooth ? first : await settle(command, first);
  if (!smooth || result.outcome !== 'APPLIED') showOutcome(result.outcome);
  showResult(result);
  return result;
}

/** Parked under this workflow's ID: just now, or by a run before this one that was ended from outside. */
function isParkedHere(result: MoveStockResult): boolean {
  return result.outcome === 'PARKED' && result.of.workflowId === workflowInfo().workflowId;
}
