/** Which stack runs on a data folder, kept in its `stack.json`, so that another program can use or stop it. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { StackError } from './problems';

export interface Running {
  env: Record<string, string>;
  processes: { name: string; pid: number; started: string }[];
}

const STOP_WITHIN_MS = 10_000;

/** Notes who runs. The start time of each process tells it from a later one that happens to get the same ID. */
export function noteRunning(
  dataDir: string,
  env: Record<string, string>,
  pids: { name: string; pid: number }[],
): void {
  const processes = pids.flatMap(({ name, pid }) => {
    const started = startTime(pid);
    return started === undefined ? [] : [{ name, pid, started }];
  });
  mkdirSync(dataDir, { recursive: true });
  const running: Running = { env, processes };
  writeFileSync(`${stateFile(dataDir)}.new`, JSON.stringify(running, undefined, 2));
  renameSync(`${stateFile(dataDir)}.new`, stateFile(dataDir));
}

/** Forgets the stack of this folder. */
export function forgetRunning(dataDir: string): void {
  rmSync(stateFile(dataDir), { force: true });
}

/**
 * The stack of this folder with those of its processes that still run; `undefined` if none does.
 * Its `dead` are the names of those that ended by themselves.
 */
export function readRunning(dataDir: string): (Running & { dead: string[] }) | undefined {
  if (!existsSync(stateFile(dataDir))) return undefined;
  const { env, processes } = JSON.parse(readFileSync(stateFile(dataDir), 'utf8')) as Running;
  const alive = processes.filter(isAlive);
  const dead = processes.filter((one) => !alive.includes(one)).map(({ name }) => name);
  return alive.length === 0 ? undefined : { env, processes: alive, dead };
}

/**
 * Where the servers of the stack of this folder are; `undefined` if none runs.
 * @throws StackError if only some of them run.
 */
export function usableEnv(dataDir: string): Running['env'] | undefined {
  const running = readRunning(dataDir);
  if (running === undefined || running.dead.length === 0) return running?.env;
  throw new StackError(
    `Of the stack on ${dataDir}, ${running.dead.join(' and ')} ended by itself (see ${join(dataDir, 'logs')}): ` +
      'stop the others with npm run stack:stop, then start again.',
  );
}

/**
 * Stops the stack of this folder, whichever program started it.
 * @returns how many processes were stopped.
 */
export async function stopRunning(dataDir: string): Promise<number> {
  const processes = readRunning(dataDir)?.processes ?? [];
  await Promise.all(processes.map(stopProcess));
  forgetRunning(dataDir);
  return processes.length;
}

type Process = Running['processes'][number];

async function stopProcess(one: Process): Promise<void> {
  signal(one, 'SIGCONT');
  signal(one, 'SIGTERM');
  const enough = Date.now() + STOP_WITHIN_MS;
  while (isAlive(one)) {
    if (Date.now() > enough) signal(one, 'SIGKILL');
    await sleep(50);
  }
}

function signal(one: Process, name: NodeJS.Signals): void {
  if (isAlive(one)) process.kill(one.pid, name);
}

function isAlive(one: Process): boolean {
  return startTime(one.pid) === one.started;
}

/** When a process was started, as text that no other process with this ID has; `undefined` if it is gone. */
function startTime(pid: number): string | undefined {
  try {
    if (process.platform === 'linux') {
      // The name, in brackets, may hold spaces: count the fields behind it. Z: ended, but not yet fetched.
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').pop()?.split(' ') ?? [];
      return fields[0] === 'Z' ? undefined : fields[19];
    }
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

function stateFile(dataDir: string): string {
  return join(dataDir, 'stack.json');
}
