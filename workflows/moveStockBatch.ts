import { defineSearchAttributeKey, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ParentClosePolicy, setCurrentDetails, startChild } from '@temporalio/workflow';
import {
  moveStockWorkflowId,
  referenceKey,
  SEARCH_ATTRIBUTES,
  type MoveStock,
  type MoveStockBatch,
  type MoveStockBatchResult,
} from '../commands';
import { adjustStockBatch } from './activities';
import { moveStock } from './moveStock';
import { refuseUnknownSchema } from './schema';
import { onNewVersion } from './versioning';

// Over within seconds: it stays with the worker version that it began on, so a version that is being replaced soon
// has none, and a change here needs no patch. Its members go on as `moveStock`, which moves along.
onNewVersion('PINNED', moveStockBatch);

/** One by one, a thousand members of unknown stocks would take a minute; all at once, one large workflow task. */
const STARTED_TOGETHER = 100;

/**
 * Moves the stock of many commands in one transaction. A command that is neither applied nor a duplicate goes on in
 * a `moveStock` of its own, under the ID it would have had alone, and this workflow does not wait for it.
 */
export async function moveStockBatch({ schema, commands }: MoveStockBatch): Promise<MoveStockBatchResult> {
  refuseUnknownSchema(schema);
  const result = await adjustStockBatch(commands);
  setCurrentDetails(
    Object.entries(result.counts)
      .map(([outcome, count]) => `- ${outcome}: ${count}`)
      .join('\n'),
  );
  for (let from = 0; from < result.onTheirOwn.length; from += STARTED_TOGETHER) {
    const together = result.onTheirOwn.slice(from, from + STARTED_TOGETHER);
    await Promise.all(together.map((index) => goOnAlone(commands[index]!)));
  }
  return result;
}

async function goOnAlone(command: MoveStock): Promise<void> {
  const { referenceType, referenceId, source } = command;
  const key = (name: string) => defineSearchAttributeKey(name, 'KEYWORD');
  try {
    await startChild(moveStock, {
      args: [command],
      workflowId: moveStockWorkflowId(command),
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      parentClosePolicy: ParentClosePolicy.ABANDON,
      staticSummary: `from ${source.topic}, partition ${source.partition}, offset ${source.offset}, out of a group`,
      typedSearchAttributes: [
        { key: key(SEARCH_ATTRIBUTES.reference), value: referenceKey(referenceType, referenceId) },
        { key: key(SEARCH_ATTRIBUTES.referenceType), value: referenceType },
      ],
    });
  } catch (error) {
    // It has its own workflow from an earlier delivery.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
