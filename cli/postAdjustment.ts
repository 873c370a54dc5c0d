/** Posts an adjustment through the one way stock changes: a `moveStock` workflow with an ID of its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowExecutionAlreadyStartedError, WorkflowFailedError } from '@temporalio/client';
import { describeCommand } from '../bridge/describe';
import { moveStockWorkflowId, SEARCH_ATTRIBUTES, type MoveStock, type MoveStockResult } from '../commands';
import type { Temporal } from '../temporal';

export interface Posted {
  workflowId: string;
  /** `MOVED`: the stock was not where it was seen, nothing was written. `WAITS`: see `says`. */
  outcome: MoveStockResult['outcome'] | 'MOVED' | 'FAILED' | 'WAITS';
  says: string;
}

/** No longer: whoever looks on goes away, the workflow does not. */
const LOOK_MS = 20_000;

/** Rejects when Temporal does not answer; nothing has begun then, or it goes on and can be asked for again. */
export async function postAdjustment(
  { temporal, taskQueue }: { temporal: Temporal; taskQueue: string },
  command: MoveStock,
): Promise<Posted> {
  const { workflow } = temporal.client;
  const workflowId = moveStockWorkflowId(command);
  try {
    await workflow.start('moveStock', {
      workflowId,
      taskQueue,
      args: [command],
      // Whether it was made before, the ledger alone says, however long Temporal remembers.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
      ...describeCommand({ type: 'moveStock', input: command }),
    });
  } catch (error) {
    // The same adjustment is under way: what becomes of it is the answer.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
  const handle = workflow.getHandle(workflowId);
  let status = '';
  for (const deadline = Date.now() + LOOK_MS; Date.now() < deadline; await sleep(100)) {
    const description = await handle.describe();
    status = description.status.name;
    const outcome = String(description.searchAttributes[SEARCH_ATTRIBUTES.outcome]?.[0] ?? '');
    if (status === 'RUNNING' && outcome !== '') {
      return { workflowId, outcome: 'PARKED', says: `${outcome}: inventory parked show ${workflowId}` };
    }
    if (status !== 'RUNNING') break;
  }
  if (status === 'RUNNING') {
    return { workflowId, outcome: 'WAITS', says: 'no worker has carried it out yet; it goes on by itself' };
  }
  try {
    const result = (await handle.result()) as MoveStockResult;
    return { workflowId, outcome: result.outcome, says: told(result) };
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const { type, message } = rootOf(error);
    return { workflowId, outcome: type === 'StockMovedError' ? 'MOVED' : 'FAILED', says: message };
  }
}

function told(result: MoveStockResult): string {
  switch (result.outcome) {
    case 'APPLIED':
      return `on hand ${result.legs[0]?.onHandAfter}`;
    case 'DUPLICATE':
    case 'PARKED':
      return `recorded at ${result.of.recordedAt} by ${result.of.workflowId}`;
    default:
      return result.outcome;
  }
}

function rootOf(error: Error): { type?: string; message: string } {
  let root: Error = error;
  while (root.cause instanceof Error) root = root.cause;
  const { type } = root as { type?: string };
  return { ...(type ? { type } : {}), message: root.message };
}
