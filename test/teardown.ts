/** After all tests: the servers and their data go. */
import { rmSync } from 'node:fs';

export default async function teardown(): Promise<void> {
  const stack = globalThis.testStack;
  if (!stack) return;
  // Nobody needs what they would still write: no time for an orderly end.
  await stack.stop(0);
  rmSync(stack.dataDir, { recursive: true, force: true });
}
