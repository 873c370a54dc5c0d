/** What is seen of each activity: its failures are counted, and the SDK's log lines say which command they are about. */
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { referenceKey, type MoveStock } from '../commands';
import { metrics } from '../metrics';
import { BrokenStockError, StockMovedError } from './judge';
import { BrokenLedgerError } from './post';
import { TransactionUnavailableError, WriteConflictError } from './transaction';

/** Errors with a name of their own in the metric; a closed set. */
const NAMED = [
  BrokenStockError,
  BrokenLedgerError,
  StockMovedError,
  TransactionUnavailableError,
  WriteConflictError,
];
/** Activities whose counts have been started at 0: Prometheus sees no increase in a series that begins at 1. */
const started = new Set<string>();

export const observeActivity: ActivityInterceptorsFactory = ({ info }) => {
  let about: Record<string, unknown> = {};
  if (!started.has(info.activityType)) {
    started.add(info.activityType);
    for (const { name } of NAMED)
      metrics.activityFailures.inc({ activity: info.activityType, error: name }, 0);
  }
  return {
    inbound: {
      execute: async (input, next) => {
        about = aboutArgument(input.args[0]);
        try {
          return await next(input);
        } catch (error) {
          const named = NAMED.some((kind) => error instanceof kind);
          const name = named ? (error as Error).name : 'other';
          metrics.activityFailures.inc({ activity: info.activityType, error: name });
          throw error;
        }
      },
    },
    outbound: { getLogAttributes: (attributes, next) => ({ ...next(attributes), ...about }) },
  };
};

/** Reference and source of a command; of a group, how many there are. */
function aboutArgument(argument: unknown): Record<string, unknown> {
  if (Array.isArray(argument)) return { commands: argument.length };
  const { referenceType, referenceId, source } = (argument ?? {}) as Partial<MoveStock>;
  return {
    ...(referenceType && referenceId ? { reference: referenceKey(referenceType, referenceId) } : {}),
    ...(source ? { source } : {}),
  };
}
