/** The workflow types of this worker, one file each. */
export { ensureDefaultLocation } from './ensureDefaultLocation';
export { ensureInventoryItem } from './ensureInventoryItem';
export { moveStock } from './moveStock';
