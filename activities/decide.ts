import type { MoveStockResult } from '../commands';
import type { Resolution } from '../decisions';
import { adjustStock } from './adjustStock';
import type { Posting } from './judge';
import type { Post } from './post';

/**
 * Carries out a decision on a parked command in one transaction. Answers the recorded decision when there is one,
 * and that the command stays parked, with what stands against it now, when it cannot be carried out. Safe to repeat.
 */
export async function decide(
  post: Post,
  posting: Posting,
  { decision, actor, reason, asOf }: Resolution,
  cancelled: AbortSignal,
): Promise<MoveStockResult> {
  const decided = { decision, actor, reason };
  return adjustStock(
    post,
    { ...posting, ask: { kind: 'decide', decided, ...(asOf === undefined ? {} : { asOf }) } },
    cancelled,
  );
}
