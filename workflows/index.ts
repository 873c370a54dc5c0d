/** The workflow types of this worker, one file each. */
export { ensureCatalogueBatch } from './ensureCatalogueBatch';
export { ensureDefaultLocation } from './ensureDefaultLocation';
export { ensureInventoryItem } from './ensureInventoryItem';
export { moveStock } from './moveStock';
export { moveStockBatch } from './moveStockBatch';
