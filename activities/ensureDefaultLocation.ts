import { defaultLocationId, type EnsureDefaultLocation, type EnsureResult } from '../commands';
import { ensure } from './ensure';
import type { Database } from './models';

/** Creates the merchant's default location unless it exists. */
export async function ensureDefaultLocation(
  database: Database,
  command: EnsureDefaultLocation,
): Promise<EnsureResult> {
  const { merchantId } = command;
  const _id = defaultLocationId(merchantId);
  const created = await ensure(database.locations, _id, { merchantId });
  return created ? { outcome: 'APPLIED', created: [_id] } : { outcome: 'DUPLICATE', created: [] };
}
