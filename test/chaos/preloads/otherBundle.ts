/** Loaded before a worker: it runs the workflow bundle in `CHAOS_BUNDLE`. */
import * as bundle from '../../../bundle';

(bundle as { BUNDLE_FILE: string }).BUNDLE_FILE = process.env['CHAOS_BUNDLE'] ?? '';
export {};
