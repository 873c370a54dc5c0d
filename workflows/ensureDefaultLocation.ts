import type { EnsureDefaultLocation, EnsureResult } from '../commands';
import { ensureDefaultLocationActivity } from './activities';
import { onNewVersion } from './versioning';

// As moveStockBatch: over within seconds.
onNewVersion('PINNED', ensureDefaultLocation);

/** A merchant was created or changed: its default location must exist. */
export async function ensureDefaultLocation(command: EnsureDefaultLocation): Promise<EnsureResult> {
  return ensureDefaultLocationActivity(command);
}
