import type { EnsureInventoryItem, EnsureResult } from '../commands';
import { ensureCatalogueBatch } from './ensureCatalogueBatch';
import type { Database } from './models';

/** Creates the variant's item and its stock at the merchant's default location unless they exist: a batch of one. */
export function ensureInventoryItem(database: Database, input: EnsureInventoryItem): Promise<EnsureResult> {
  return ensureCatalogueBatch(database, [{ type: 'ensureInventoryItem', input }]);
}
