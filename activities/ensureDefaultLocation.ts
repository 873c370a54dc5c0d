import type { EnsureDefaultLocation, EnsureResult } from '../commands';
import { ensureCatalogueBatch } from './ensureCatalogueBatch';
import type { Database } from './models';

/** Creates the merchant's default location unless it exists: a batch of one. */
export function ensureDefaultLocation(
  database: Database,
  input: EnsureDefaultLocation,
): Promise<EnsureResult> {
  return ensureCatalogueBatch(database, [{ type: 'ensureDefaultLocation', input }]);
}
