/** Loaded before a worker: it runs the workflow bundle in `CHAOS_BUNDLE`. */
import * as bundle from '../../../bundle';
import { replace } from '../replace';

replace(bundle, { bundleFile: () => process.env['CHAOS_BUNDLE']! });
