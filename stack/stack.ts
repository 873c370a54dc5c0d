/** Real servers on this machine: Kafka, MongoDB and Temporal, started, stopped and broken at will. */
import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

import type { Variables } from './addresses';
import { environment, portsOf } from './addresses';
import { findBinary } from './binaries';
import { startGuard } from './guard';
import { kafka } from './kafka';
import { mongo } from './mongo';
import type { Ports } from './ports';
import { checkFree, FIXED_PORTS, freePorts } from './ports';
import { OTHER_WAY, StackError } from './problems';
import { forgetRunning, noteRunning, readRunning } from './running';
import type { Launch, ServerName } from './server';
import { Server } from './server';
import { temporal } from './temporal';
import { java } from './tools';

export type { Variables } from './addresses';
export type { Server, ServerName } from './server';
export { StackError } from './problems';

export const ALL_SERVERS: readonly ServerName[] = ['kafka', 'mongo', 'temporal'];

export interface StackOptions<N extends ServerName = ServerName> {
  /** Data, configuration and logs (`logs/<server>.log`). A stack started again on it has the same data. */
  dataDir: string;
  /** `fixed`: the ports everybody expects. `free`: any that are free. */
  ports: 'fixed' | 'free';
  /** Only these; all when left out. */
  servers?: readonly N[];
  /** Forgets the data first. */
  fresh?: boolean;
  /** The servers outlive this program; `stopRunning` ends them. Otherwise they end with it, however it ends. */
  detached?: boolean;
  /** More arguments for a server, once its ports are known. */
  moreArgs?: (name: ServerName, ports: Ports) => string[];
  onProgress?: (line: string) => void;
  /** Is told when a server ends by itself, with the last lines of its log. */
  onDeath?: (error: StackError) => void;
}

/** A started stack. */
export interface Stack<N extends ServerName = ServerName> {
  dataDir: string;
  /** Where the servers are, under the names that `readConfig` knows. */
  env: Record<Variables[N], string>;
  servers: Record<N, Server>;
  /** Stops everything that was started, all at once, with SIGKILL for what has not ended after `withinMs`. */
  stop(withinMs?: number): Promise<void>;
}

const START_TRIES = 4;
const PORT_TAKEN = /address (is )?already in use/i;

/**
 * Starts the servers and resolves once all of them do their work.
 * @throws StackError, with nothing left running, if one of them can't.
 */
export async function startStack<N extends ServerName = ServerName>(
  options: StackOptions<N>,
): Promise<Stack<N>> {
  if (process.platform === 'win32') throw new StackError(`Windows is not supported. ${OTHER_WAY}`);
  const dataDir = resolve(options.dataDir);
  const names = options.servers ?? (ALL_SERVERS as readonly N[]);
  const onProgress = options.onProgress ?? (() => {});
  if (readRunning(dataDir)) {
    throw new StackError(
      `A stack already runs on ${dataDir}: stop it with npm run stack:stop, or use another folder.`,
    );
  }
  if (options.fresh)
    for (const part of [...ALL_SERVERS, 'logs'])
      rmSync(join(dataDir, part), { recursive: true, force: true });
  mkdirSync(join(dataDir, 'logs'), { recursive: true });
  const wanted = names.flatMap((name) => portsOf(name, FIXED_PORTS));
  if (options.ports === 'fixed') await checkFree(wanted);
  const programs = await findPrograms(names, onProgress);

  for (let tries = 1; ; tries += 1) {
    const ports = options.ports === 'fixed' ? FIXED_PORTS : await freePorts();
    try {
      return await launchAll(names, programs, ports, { ...options, dataDir, onProgress });
    } catch (error) {
      // A port that was free a moment ago was taken by another program: try other ones.
      const taken = error instanceof StackError && PORT_TAKEN.test(error.message);
      if (options.ports === 'fixed' || !taken || tries === START_TRIES) throw error;
    }
  }
}

type Programs = Record<ServerName, string> & { java: string };

async function findPrograms(
  names: readonly ServerName[],
  onProgress: (line: string) => void,
): Promise<Programs> {
  const find = async (name: ServerName, binary: 'kafka' | 'mongod' | 'temporal') =>
    names.includes(name) ? (await findBinary(binary, { onProgress })).path : '';
  const [lib, mongod, cli, javaProgram] = await Promise.all([
    find('kafka', 'kafka'),
    find('mongo', 'mongod'),
    find('temporal', 'temporal'),
    names.includes('kafka') ? java(process.env) : '',
  ]);
  return { kafka: lib, mongo: mongod, temporal: cli, java: javaProgram };
}

async function launchAll<N extends ServerName>(
  names: readonly N[],
  programs: Programs,
  ports: Ports,
  options: StackOptions<N> & { dataDir: string; onProgress: (line: string) => void },
): Promise<Stack<N>> {
  const { dataDir, onProgress } = options;
  const env = environment(names, ports);
  const guard = startGuard();
  const servers = {} as Record<N, Server>;
  const started = () =>
    names.flatMap((name) => (servers[name]?.pid ? [{ name, pid: servers[name].pid }] : []));
  const onPid = () => {
    guard.watch(started().map(({ pid }) => pid));
    noteRunning(dataDir, env, started());
  };
  const stop = async (withinMs?: number) => {
    await Promise.all(names.map((name) => servers[name]?.stop(withinMs)));
    guard.dismiss();
    forgetRunning(dataDir);
  };
  const launchOne = async (name: N) => {
    const since = Date.now();
    const launch = await launchOf(name, programs, ports, dataDir);
    launch.args.push(...(options.moreArgs?.(name, ports) ?? []));
    servers[name] = new Server(launch, onPid, options.onDeath ?? (() => {}));
    await servers[name].start();
    onProgress(`${name} is ready after ${((Date.now() - since) / 1000).toFixed(1)} s`);
  };
  const results = await Promise.allSettled(names.map(launchOne));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) {
    await stop(0);
    throw failed.reason;
  }
  // While they start, even servers that are to outlive this program end with it.
  if (options.detached) guard.dismiss();
  return { dataDir, env, servers, stop };
}

async function launchOf(
  name: ServerName,
  programs: Programs,
  ports: Ports,
  dataDir: string,
): Promise<Launch> {
  const place = { dir: join(dataDir, name), logFile: join(dataDir, 'logs', `${name}.log`) };
  switch (name) {
    case 'kafka':
      return kafka({
        ...place,
        lib: programs.kafka,
        java: programs.java,
        port: ports.kafka,
        controllerPort: ports.kafkaController,
      });
    case 'mongo':
      return mongo({ ...place, mongod: programs.mongo, port: ports.mongo });
    case 'temporal':
      return temporal({ ...place, cli: programs.temporal, port: ports.temporal, uiPort: ports.temporalUi });
  }
}
