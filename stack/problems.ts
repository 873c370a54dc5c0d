/** A problem that its reader can solve: printed as one sentence, without a stack trace. */
export class StackError extends Error {
  override readonly name = 'StackError';
}

/** Ends every sentence about something that is missing on this machine. */
export const OTHER_WAY = 'Or use containers instead: docker compose up.';
