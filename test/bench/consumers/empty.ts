/**
 * Contender: an empty Temporal workflow per event, started eagerly by a plain kafkajs consumer in the worker's own
 * process. No ledger and no activity: the ceiling of everything that starts a workflow for each event.
 */
import { Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { consume, setting } from './consume';
import { Slots } from './lanes';

/** The best found: with 50, as our bridge has them, the dev server did a quarter less. */
const IN_FLIGHT = 10;
const CHUNK = 250;

async function main(): Promise<void> {
  const connection = await NativeConnection.connect({ address: setting('TEMPORAL_ADDRESS') });
  const taskQueue = setting('TEMPORAL_TASK_QUEUE');
  const worker = await Worker.create({
    connection,
    taskQueue,
    workflowBundle: { codePath: setting('BENCH_EMPTY_BUNDLE') },
    maxCachedWorkflows: 1_000,
  });
  void worker.run();
  // One connection for client and worker: that is what makes an eager start possible.
  const { workflow } = new Client({ connection });
  const slots = new Slots(IN_FLIGHT);
  const starting = new Map<string, Promise<void>>();
  // Temporal throttles an ID that comes twice within a moment, so the second waits for the first.
  const startOnce = (workflowId: string) => {
    const already = starting.get(workflowId);
    if (already) return already;
    const now = slots.run(() => start(workflowId)).finally(() => starting.delete(workflowId));
    starting.set(workflowId, now);
    return now;
  };
  const start = async (workflowId: string) => {
    try {
      await workflow.start('nothing', {
        workflowId,
        taskQueue,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
        workflowIdConflictPolicy: 'FAIL',
        requestEagerStart: true,
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  };
  await consume(CHUNK, async (movements) => {
    await Promise.all(
      movements.map(({ referenceType, referenceId }) => startOnce(`${referenceType}/${referenceId}`)),
    );
  });
}

void main();
