import type { MoveStockResult } from '../commands';
import type { Reopening } from '../decisions';
import { adjustStock } from './adjustStock';
import type { Posting } from './judge';
import type { Post } from './post';

/**
 * Parks a command that could not be applied: takes its keys in the ledger without effect on stock, so that no path
 * applies it behind the person's back. Applies it instead if by now nothing stands against it, and answers what is
 * settled or parked already. Safe to repeat.
 * @param reopening passes over the refusal that it names
 */
export async function park(
  post: Post,
  posting: Posting,
  reopening: Reopening | undefined,
  cancelled: AbortSignal,
): Promise<MoveStockResult> {
  return adjustStock(post, { ...posting, ask: { kind: 'park', ...(reopening && { reopening }) } }, cancelled);
}
