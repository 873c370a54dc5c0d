/** Loaded before a worker: it runs the workflow bundle in `CHAOS_BUNDLE`. */
import * as bundle from '../../../bundle';

Object.assign(bundle, { BUNDLE_FILE: process.env['CHAOS_BUNDLE'] });
