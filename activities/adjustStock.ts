import type { MoveStockResult } from '../commands';
import type { Posting } from './judge';
import type { Post } from './post';

/**
 * Adjusts every leg's stock and records every leg's tracking entry in one transaction, or does nothing and says
 * why. Safe to repeat: a second try of a run whose answer was lost returns the first result from the ledger.
 */
export async function adjustStock(
  post: Post,
  posting: Posting,
  cancelled: AbortSignal,
): Promise<MoveStockResult> {
  const [posted] = await post([posting], cancelled);
  if (posted!.status === 'rejected') throw posted!.reason;
  return posted!.value;
}
