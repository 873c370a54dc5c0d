import { isCancellation, proxyActivities, proxyLocalActivities, TemporalFailure } from '@temporalio/workflow';
import { TIME_LIMITS_MS } from '../commands';
import type { Activities } from '../activities';

const startToCloseTimeout = TIME_LIMITS_MS.activityStartToClose;
/** The person who asked looks again; nobody else is waiting. */
const nonRetryableErrorTypes = ['StockMovedError'];

/** Costs no workflow task and no queue; gives up soon, so that trouble becomes visible below. */
const local = proxyLocalActivities<Activities>({
  startToCloseTimeout,
  retry: {
    initialInterval: '100 milliseconds',
    backoffCoefficient: 2,
    maximumAttempts: 3,
    nonRetryableErrorTypes,
  },
});

/** Without end, and pending with its last failure in the Web UI: only a person may give up on stock. */
const regular = proxyActivities<Activities>({
  startToCloseTimeout,
  retry: {
    initialInterval: '1 second',
    backoffCoefficient: 2,
    maximumInterval: '30 seconds',
    nonRetryableErrorTypes,
  },
});

/** Local activity first; as a regular one, retried without end, when MongoDB is away. */
function durable<Name extends keyof Activities>(name: Name): Activities[Name] {
  return (async (...args: Parameters<Activities[Name]>) => {
    const run = (proxy: typeof local) => (proxy[name] as (...args: unknown[]) => Promise<unknown>)(...args);
    try {
      return await run(local);
    } catch (error) {
      // A failed local activity surfaces as its own failure, without the ActivityFailure around it.
      if (!(error instanceof TemporalFailure) || isCancellation(error)) throw error;
      return run(regular);
    }
  }) as Activities[Name];
}

export const checkTracking = durable('checkTracking');
export const adjustStock = durable('adjustStock');
export const park = durable('park');
export const decide = durable('decide');
export const adjustStockBatch = durable('adjustStockBatch');
export const ensureCatalogueBatchActivity = durable('ensureCatalogueBatch');
export const ensureDefaultLocationActivity = durable('ensureDefaultLocation');
export const ensureInventoryItemActivity = durable('ensureInventoryItem');
