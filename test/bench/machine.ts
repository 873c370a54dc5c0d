/** Where a run took place: machine, versions, and which Temporal. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Database } from '../../activities/models';
import { findBinary } from '../../stack/binaries';
import { KAFKA } from '../../stack/packages';
import type { Where } from './results';
import { RIVALS, ROOT } from './rivalServers';

export async function describeRun(database: Database, runs: number, events: number): Promise<Where> {
  const temporal = firstLine((await findBinary('temporal')).path, ['--version']);
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
    temporal: `dev server, durable on disk (\`--db-filename\`): ${temporal.replace(/^temporal version /, 'CLI ')}`,
    versions: Object.fromEntries(Object.entries(versions).filter(([, version]) => version)) as Record<
      string,
      string
    >,
    runs,
    events,
  };
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
