import { defaultLocationId, defaultStockId, type EnsureInventoryItem, type EnsureResult } from '../commands';
import { toDecimal128 } from './decimals';
import { ensure } from './ensure';
import type { Database } from './models';
import Big from 'big.js';

/**
 * Creates the variant's item, and its empty stock at the merchant's default location, unless they exist. The
 * location is ensured too: topics are not ordered among each other, so the merchant's own event may come later.
 * The stock comes last, so that one that can be seen is complete; each step may be repeated.
 */
export async function ensureInventoryItem(
  database: Database,
  command: EnsureInventoryItem,
): Promise<EnsureResult> {
  const { variantId, merchantId } = command;
  const locationId = defaultLocationId(merchantId);
  const stockId = defaultStockId(variantId, merchantId);
  const created: string[] = [];
  if (await ensure(database.locations, locationId, { merchantId })) created.push(locationId);
  if (await ensure(database.items, variantId, {})) created.push(variantId);
  const empty = { onHand: toDecimal128(new Big(0)), sequence: 0, itemId: variantId, locationId };
  if (await ensure(database.stocks, stockId, empty)) created.push(stockId);
  return { outcome: created.length > 0 ? 'APPLIED' : 'DUPLICATE', created };
}
