import Big from 'big.js';
import { defaultLocationId, defaultStockId, type EnsureCatalogueBatch, type EnsureResult } from '../commands';
import { toDecimal128 } from './decimals';
import { ensureAll } from './ensure';
import type { Database, InventoryItem, InventoryLocation, InventoryStock } from './models';

/**
 * Creates each merchant's default location, each variant's item, and its empty stock at the merchant's default
 * location, unless they exist. A variant's location is ensured with it: topics are not ordered among each other, so
 * the merchant's own event may come later. Stocks come last, so that one that can be seen is complete; every step
 * may be repeated.
 */
export async function ensureCatalogueBatch(
  database: Database,
  commands: EnsureCatalogueBatch['commands'],
): Promise<EnsureResult> {
  const locations = new Map<string, InventoryLocation>();
  const items = new Map<string, InventoryItem>();
  const stocks = new Map<string, InventoryStock>();
  for (const command of commands) {
    const { merchantId } = command.input;
    const locationId = defaultLocationId(merchantId);
    locations.set(locationId, { _id: locationId, merchantId });
    if (command.type === 'ensureDefaultLocation') continue;
    const { variantId } = command.input;
    const stockId = defaultStockId(variantId, merchantId);
    items.set(variantId, { _id: variantId });
    stocks.set(stockId, {
      _id: stockId,
      onHand: toDecimal128(new Big(0)),
      sequence: 0,
      itemId: variantId,
      locationId,
    });
  }
  const created = [
    ...(await ensureAll(database.locations, [...locations.values()])),
    ...(await ensureAll(database.items, [...items.values()])),
    ...(await ensureAll(database.stocks, [...stocks.values()])),
  ];
  return { outcome: created.length > 0 ? 'APPLIED' : 'DUPLICATE', created };
}
