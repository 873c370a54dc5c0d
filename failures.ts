/** Puts message and stack trace of a failure into a payload, which the codec encrypts; see `codec.ts`. */
import { DefaultFailureConverter } from '@temporalio/common';

/** The name is the SDK's: it loads this file by its path. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
