/** The activities of a worker, by the names that workflows call. */
import { activityInfo, cancellationSignal } from '@temporalio/activity';
import type {
  EnsureDefaultLocation,
  EnsureInventoryItem,
  EnsureResult,
  MoveStock,
  MoveStockResult,
} from '../commands';
import { adjustStock } from './adjustStock';
import { checkTracking } from './checkTracking';
import { ensureDefaultLocation } from './ensureDefaultLocation';
import { ensureInventoryItem } from './ensureInventoryItem';
import type { Policy, Posting } from './judge';
import type { Database } from './models';
import { createPost } from './post';

export type Activities = ReturnType<typeof createActivities>;

/** @param policy what the deployment's settings say about stock below zero */
export function createActivities(database: Database, policy: Policy) {
  const post = createPost(database, policy);
  return {
    checkTracking: (command: MoveStock): Promise<MoveStockResult | null> =>
      checkTracking(database, posting(command)),
    adjustStock: (command: MoveStock): Promise<MoveStockResult> =>
      adjustStock(post, posting(command), cancellationSignal()),
    ensureDefaultLocation: (command: EnsureDefaultLocation): Promise<EnsureResult> =>
      ensureDefaultLocation(database, command),
    ensureInventoryItem: (command: EnsureInventoryItem): Promise<EnsureResult> =>
      ensureInventoryItem(database, command),
  };
}

function posting(command: MoveStock): Posting {
  const { workflowExecution } = activityInfo();
  if (workflowExecution === undefined) throw new Error('this activity posts on behalf of a workflow');
  return { command, workflowId: workflowExecution.workflowId, runId: workflowExecution.runId };
}
