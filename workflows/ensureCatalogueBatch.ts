import type { EnsureCatalogueBatch, EnsureResult } from '../commands';
import { ensureCatalogueBatchActivity } from './activities';
import { refuseUnknownSchema } from './schema';

/** Many merchants and variants at once: a snapshot of a catalogue, say. */
export async function ensureCatalogueBatch(batch: EnsureCatalogueBatch): Promise<EnsureResult> {
  refuseUnknownSchema(batch.schema);
  return ensureCatalogueBatchActivity(batch.commands);
}
