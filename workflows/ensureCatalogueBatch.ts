import type { EnsureCatalogueBatch, EnsureResult } from '../commands';
import { ensureCatalogueBatchActivity } from './activities';
import { refuseUnknownSchema } from './schema';
import { onNewVersion } from './versioning';

// As moveStockBatch: over within seconds.
onNewVersion('PINNED', ensureCatalogueBatch);

/** Many merchants and variants at once: a snapshot of a catalogue, say. */
export async function ensureCatalogueBatch(batch: EnsureCatalogueBatch): Promise<EnsureResult> {
  refuseUnknownSchema(batch.schema);
  return ensureCatalogueBatchActivity(batch.commands);
}
