import type { MoveStockBatchResult } from '../commands';
import { isHindered } from '../decisions';
import type { Posting } from './judge';
import type { Post } from './post';

/**
 * Adjusts the stock of many commands in one transaction. What needs more than the ledger can give at once (its
 * stock is unknown, it contradicts the ledger, or a broken stock stops it) is named, and goes on by itself.
 */
export async function adjustStockBatch(
  post: Post,
  postings: readonly Posting[],
  cancelled: AbortSignal,
): Promise<MoveStockBatchResult> {
  const result: MoveStockBatchResult = { counts: {}, onTheirOwn: [] };
  (await post(postings, cancelled)).forEach((posted, index) => {
    if (posted.status === 'fulfilled') {
      const { outcome } = posted.value;
      result.counts[outcome] = (result.counts[outcome] ?? 0) + 1;
      // What is parked goes to its own workflow too, which normally runs: if somebody ended it, it parks again.
      if (!isHindered(posted.value) && outcome !== 'PARKED') return;
    }
    result.onTheirOwn.push(index);
  });
  return result;
}
