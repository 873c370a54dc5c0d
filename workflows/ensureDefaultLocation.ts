import type { EnsureDefaultLocation, EnsureResult } from '../commands';
import { ensureDefaultLocationActivity } from './activities';

/** A merchant was created or changed: its default location must exist. */
export async function ensureDefaultLocation(command: EnsureDefaultLocation): Promise<EnsureResult> {
  return ensureDefaultLocationActivity(command);
}
