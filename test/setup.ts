/** Before all tests: one stack of real servers for this run alone, whatever servers the machine has besides. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { findBinary, VARIABLES } from '../stack/binaries';
import type { Stack } from '../stack/stack';
import { startStack } from '../stack/stack';

declare global {
  var testStack: Stack | undefined;
}

/** Says where the servers are through variables, which every test process inherits. */
export default async function setup(): Promise<void> {
  forgetOtherServers();
  const onProgress = (line: string) => console.error(line);
  const dataDir = mkdtempSync(join(tmpdir(), 'inventory-test-'));
  const onDeath = (error: Error) => console.error(error.message);
  const testServer = findBinary('temporal-test-server', { onProgress });
  const [stack, { path }] = await Promise.all([
    startStack({ dataDir, ports: 'free', onProgress, onDeath }),
    testServer,
  ]);
  Object.assign(process.env, stack.env, { TEMPORAL_TEST_SERVER: path });
  globalThis.testStack = stack;
}

/** No test and no benchmark may reach a server, a namespace or a credential that a person's own variables name. */
export function forgetOtherServers(): void {
  const programs = Object.values(VARIABLES);
  for (const name of Object.keys(process.env)) {
    if (/^(KAFKA|MONGO|TEMPORAL)_/.test(name) && !programs.includes(name)) delete process.env[name];
  }
}
