/** The workflow of the contender `empty`: it does nothing, so that what remains is what Temporal itself takes. */
export function nothing(): Promise<void> {
  return Promise.resolve();
}
