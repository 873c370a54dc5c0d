import { setWorkflowOptions } from '@temporalio/workflow';

/** The worker puts this in front of the bundle when it is versioned, see worker.ts. */
declare const INVENTORY_WORKER_IS_VERSIONED: true | undefined;

/**
 * Says whether a workflow stays with the worker version that it began on (`PINNED`) or moves along with each new one.
 * Only a versioned worker may say so: Temporal refuses it from others. What `workflowInfo` tells of the version would
 * not do, because in a replay that is the version of the past.
 */
export function onNewVersion<A extends unknown[], R>(
  versioningBehavior: 'PINNED' | 'AUTO_UPGRADE',
  workflow: (...args: A) => Promise<R>,
): void {
  if (typeof INVENTORY_WORKER_IS_VERSIONED !== 'undefined')
    setWorkflowOptions({ versioningBehavior }, workflow);
}
