import type { EnsureInventoryItem, EnsureResult } from '../commands';
import { ensureInventoryItemActivity } from './activities';
import { onNewVersion } from './versioning';

// As moveStockBatch: over within seconds.
onNewVersion('PINNED', ensureInventoryItem);

/** A variant was created or changed: its item must exist, and its stock at the merchant's default location. */
export async function ensureInventoryItem(command: EnsureInventoryItem): Promise<EnsureResult> {
  return ensureInventoryItemActivity(command);
}
