/** Where a run took place: machine, versions, and which Temporal. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Connection } from '@temporalio/client';
import type { Database } from '../../activities/models';
import { findBinary } from '../../stack/binaries';
import { KAFKA } from '../../stack/packages';
import type { Where } from './results';
import { RIVALS, ROOT } from './rivalServers';

/** @param given.temporal address of a server that is there already */
export async function describeRun(
  database: Database,
  given: { runs: number; events: number; temporal?: string },
): Promise<Where> {
  const info = await database.connection.db!.admin().buildInfo();
  const versions: Record<string, string | undefined> = {
    'Node.js': process.versions.node,
    'Temporal SDK': packageVersion(ROOT, '@temporalio/worker'),
    kafkajs: packageVersion(ROOT, 'kafkajs'),
    Kafka: KAFKA.version,
    MongoDB: String(info['version']),
    Restate: packageVersion(path.join(RIVALS, 'restate'), '@restatedev/restate-server'),
    'Restate SDK': packageVersion(path.join(RIVALS, 'restate'), '@restatedev/restate-sdk'),
    DBOS: packageVersion(path.join(RIVALS, 'dbos'), '@dbos-inc/dbos-sdk'),
    'DBOS kafkajs-receive': packageVersion(path.join(RIVALS, 'dbos'), '@dbos-inc/kafkajs-receive'),
    PostgreSQL: postgresVersion(),
  };
  return {
    date: new Date().toISOString().slice(0, 16).replace('T', ' ') + ' UTC',
    cores: os.cpus().length,
    machine: `${os.cpus().length} cores (${os.cpus()[0]?.model.trim() ?? 'unknown'}), ${Math.round(os.totalmem() / 2 ** 30)} GB memory, ${os.type()} ${os.release()}`,
    temporal: given.temporal === undefined ? await devServer() : await serverAt(given.temporal),
    versions: Object.fromEntries(Object.entries(versions).filter(([, version]) => version)) as Record<
      string,
      string
    >,
    runs: given.runs,
    events: given.events,
  };
}

async function devServer(): Promise<string> {
  const version = firstLine((await findBinary('temporal')).path, ['--version']);
  return `dev server, durable on disk (\`--db-filename\`): ${version.replace(/^temporal version /, 'CLI ')}`;
}

async function serverAt(address: string): Promise<string> {
  const connection = await Connection.connect({ address });
  const info = connection.workflowService.getClusterInfo({});
  const { serverVersion, persistenceStore } = await info.finally(() => connection.close());
  return `server ${serverVersion} on ${persistenceStore} at ${address}, not started here; its processor time and memory are not counted`;
}

function packageVersion(folder: string, name: string): string | undefined {
  const file = path.join(folder, 'node_modules', name, 'package.json');
  return existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
    : undefined;
}

function postgresVersion(): string | undefined {
  try {
    return firstLine('psql', ['--version']).replace(/^psql \(PostgreSQL\) (\S+).*$/, '$1');
  } catch {
    return undefined;
  }
}

function firstLine(program: string, args: string[]): string {
  return execFileSync(program, args, { encoding: 'utf8' }).split('\n')[0]!.trim();
}
