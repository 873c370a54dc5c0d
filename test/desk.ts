/** The ledger as the workflows of this product use it, without Temporal: deliver, park, decide. */
import { adjustStock } from '../activities/adjustStock';
import { announce } from '../activities/announce';
import { decide } from '../activities/decide';
import type { Posting } from '../activities/judge';
import type { Database } from '../activities/models';
import { park } from '../activities/park';
import { createPost, type Post } from '../activities/post';
import { moveStockWorkflowId, type MoveStock, type MoveStockResult, type ReferenceType } from '../commands';
import type { Decision, Reopening } from '../decisions';
import type { Logger } from '../log';

export interface Desk {
  post: Post;
  /** What was logged. */
  logged: object[];
  /** The command as a workflow would post it, its own one if none is named. */
  posting(command: MoveStock, workflowId?: string): Posting;
  /** A delivery that gets a workflow run of its own. */
  deliver(command: MoveStock): Promise<MoveStockResult>;
  park(command: MoveStock, workflowId?: string, reopening?: Reopening): Promise<MoveStockResult>;
  /** Signed `ana: because` if not said otherwise. */
  decide(
    command: MoveStock,
    decision: Decision,
    more?: { asOf?: number; actor?: string; reason?: string; workflowId?: string },
  ): Promise<MoveStockResult>;
}

let runs = 0;

/** A process of its own: its transactions know nothing of those of another desk. */
export function createDesk(database: Database, belowZeroRefuse: ReferenceType[] = []): Desk {
  const logged: object[] = [];
  const record = (about: object) => logged.push(about);
  const log = { info: record, warn: record, debug: () => undefined } as unknown as Logger;
  const post = createPost(database, { belowZeroRefuse: new Set(belowZeroRefuse) }, ({ entries }) =>
    announce(entries, log),
  );
  const { signal } = new AbortController();
  const posting = (command: MoveStock, workflowId = moveStockWorkflowId(command)): Posting => ({
    command,
    workflowId,
    runId: `run of ${workflowId}`,
  });
  return {
    post,
    logged,
    posting,
    deliver: (command) => adjustStock(post, posting(command, `delivery ${runs++}`), signal),
    park: (command, workflowId, reopening) => park(post, posting(command, workflowId), reopening, signal),
    decide: (command, decision, { workflowId, ...more } = {}) =>
      decide(
        post,
        posting(command, workflowId),
        { decision, actor: 'ana', reason: 'because', ...more },
        signal,
      ),
  };
}
