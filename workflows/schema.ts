import { ApplicationFailure } from '@temporalio/workflow';

/**
 * Fails for good on an input of a shape this worker does not know, so that the event, delivered again after the
 * workers are upgraded, starts afresh.
 */
export function refuseUnknownSchema(schema: number): void {
  if (schema !== 1) {
    throw ApplicationFailure.nonRetryable(
      `command schema ${schema} is not known to this worker; upgrade the worker`,
    );
  }
}
