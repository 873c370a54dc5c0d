/** The activities of a worker, by the names that workflows call. */
import { activityInfo, cancellationSignal } from '@temporalio/activity';
import type {
  EnsureCatalogueBatch,
  EnsureDefaultLocation,
  EnsureInventoryItem,
  EnsureResult,
  MoveStock,
  MoveStockBatchResult,
  MoveStockResult,
} from '../commands';
import { REFERENCE_TYPES } from '../commands';
import { CASES, type Reopening, type Resolution } from '../decisions';
import type { Logger } from '../log';
import { metrics } from '../metrics';
import { announce, tellJudged } from './announce';
import { adjustStock } from './adjustStock';
import { adjustStockBatch } from './adjustStockBatch';
import { checkTracking } from './checkTracking';
import { ensureCatalogueBatch } from './ensureCatalogueBatch';
import { ensureDefaultLocation } from './ensureDefaultLocation';
import { ensureInventoryItem } from './ensureInventoryItem';
import { decide } from './decide';
import { park } from './park';
import type { Policy, Posting } from './judge';
import type { Database } from './models';
import { createPost } from './post';

export type Activities = ReturnType<typeof createActivities>;

/**
 * @param policy what the deployment's settings say about stock below zero, and how long to wait for what
 * @param log gets a line for each command that is parked or decided, and at debug level for every other
 */
export function createActivities(database: Database, policy: Policy, log: Logger) {
  startAtZero();
  const post = createPost(database, policy, (judgement, postings) => {
    announce(judgement.entries, log);
    tellJudged(postings, judgement.results, log);
  });
  return {
    checkTracking: async (command: MoveStock): Promise<MoveStockResult | null> => {
      const [posting] = postings([command]);
      const result = await checkTracking(database, posting);
      // Settled by a look alone: no transaction will judge it, so it is counted and told here.
      if (result) {
        metrics.outcomes.inc({ reference_type: command.referenceType, outcome: result.outcome });
        tellJudged([posting], [result], log);
      }
      return result;
    },
    adjustStock: (command: MoveStock): Promise<MoveStockResult> =>
      adjustStock(post, ...postings([command]), cancellationSignal()),
    adjustStockBatch: (commands: MoveStock[]): Promise<MoveStockBatchResult> =>
      adjustStockBatch(post, postings(commands), cancellationSignal()),
    park: (command: MoveStock, reopening?: Reopening): Promise<MoveStockResult> =>
      park(post, ...postings([command]), reopening, cancellationSignal()),
    decide: (command: MoveStock, resolution: Resolution): Promise<MoveStockResult> =>
      decide(post, ...postings([command]), resolution, cancellationSignal()),
    ensureDefaultLocation: (command: EnsureDefaultLocation): Promise<EnsureResult> =>
      ensureDefaultLocation(database, command),
    ensureInventoryItem: (command: EnsureInventoryItem): Promise<EnsureResult> =>
      ensureInventoryItem(database, command),
    ensureCatalogueBatch: (commands: EnsureCatalogueBatch['commands']): Promise<EnsureResult> =>
      ensureCatalogueBatch(database, commands),
  };
}

/** Prometheus sees no increase in a series that begins at 1. */
function startAtZero(): void {
  for (const reference_type of REFERENCE_TYPES) {
    metrics.belowZero.inc({ reference_type }, 0);
    for (const parkedCase of CASES) metrics.parked.inc({ reference_type, case: parkedCase }, 0);
  }
}

function postings(commands: readonly [MoveStock]): [Posting];
function postings(commands: readonly MoveStock[]): Posting[];
function postings(commands: readonly MoveStock[]): Posting[] {
  const { workflowExecution } = activityInfo();
  if (workflowExecution === undefined) throw new Error('this activity posts on behalf of a workflow');
  const { workflowId, runId } = workflowExecution;
  return commands.map((command) => ({ command, workflowId, runId }));
}
