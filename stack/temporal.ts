/** Temporal's development server with its Web UI: everything in one process, kept in one file. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { Connection } from '@temporalio/client';

import { SEARCH_ATTRIBUTES } from '../commands';
import type { Launch } from './server';
import { until } from './server';

export interface TemporalOptions {
  cli: string;
  dir: string;
  logFile: string;
  port: number;
  uiPort: number;
}

/** The type of every search attribute, as the command line names it. */
const ATTRIBUTE_TYPES: Record<keyof typeof SEARCH_ATTRIBUTES, 'Keyword' | 'KeywordList'> = {
  reference: 'Keyword',
  referenceType: 'Keyword',
  stocks: 'KeywordList',
  outcome: 'Keyword',
};

/** Tells how to start, with every search attribute registered. */
export function temporal({ cli, dir, logFile, port, uiPort }: TemporalOptions): Launch {
  mkdirSync(dir, { recursive: true });
  const names = Object.keys(SEARCH_ATTRIBUTES) as (keyof typeof SEARCH_ATTRIBUTES)[];
  const attributes = names.flatMap((name) => [
    '--search-attribute',
    `${SEARCH_ATTRIBUTES[name]}=${ATTRIBUTE_TYPES[name]}`,
  ]);
  const network = ['--ip', '127.0.0.1', '--port', String(port), '--ui-port', String(uiPort)];
  const kept = ['--db-filename', join(dir, 'temporal.db')];
  const args = ['server', 'start-dev', ...network, ...kept, '--log-level', 'error', ...attributes];
  return { name: 'temporal', logFile, program: cli, args, ready: (signal) => ready(port, uiPort, signal) };
}

/** Ready is: the namespace and its search attributes are there, and the Web UI answers. */
async function ready(port: number, uiPort: number, signal: AbortSignal): Promise<void> {
  const connection = Connection.lazy({ address: `127.0.0.1:${port}` });
  try {
    await until(() => connection.withDeadline(Date.now() + 2_000, () => ask(connection, uiPort)), signal);
  } finally {
    await connection.close();
  }
}

async function ask(connection: Connection, uiPort: number): Promise<boolean> {
  await connection.workflowService.describeNamespace({ namespace: 'default' });
  const { customAttributes } = await connection.operatorService.listSearchAttributes({
    namespace: 'default',
  });
  if (!Object.values(SEARCH_ATTRIBUTES).every((name) => name in customAttributes)) return false;
  return (await fetch(`http://127.0.0.1:${uiPort}/`, { signal: AbortSignal.timeout(2_000) })).ok;
}
