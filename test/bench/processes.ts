/** The contenders' processes: started with a log, frozen and thawed, ended; and what /proc says they have cost. */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startGuard } from '../../stack/guard';

/** Linux counts processor time in hundredths of a second for every program that asks. */
const TICKS_PER_SECOND = 100;
const READY_WITHIN_MS = 60_000;

/** Whatever happens to this program, no contender survives it. */
const guard = startGuard();
const running = new Map<number, ChildProcess>();

export interface Spawned {
  name: string;
  pid: number;
  stop(): Promise<void>;
}

export interface Launch {
  name: string;
  program: string;
  args: string[];
  env: Record<string, string | undefined>;
  logFile: string;
  /** Stands in the log once it works. */
  ready: string | (() => Promise<boolean>);
  /** Ends on request instead of at once: a profile is written at the end. */
  graceful?: boolean;
  /** Another user to run as. */
  user?: { uid: number; gid: number };
}

/** @throws Error with the end of its log when it does not come up */
export async function launch(options: Launch): Promise<Spawned> {
  const { name, program, args, env, logFile, ready, user } = options;
  mkdirSync(path.dirname(logFile), { recursive: true });
  const log = openSync(logFile, 'a');
  const child = spawn(program, args, {
    env,
    stdio: ['ignore', log, log],
    cwd: path.dirname(logFile),
    ...user,
  });
  closeSync(log);
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${program} could not be started`);
  running.set(pid, child);
  watch();
  const ended = new Promise<void>((resolve) =>
    child.once('exit', () => {
      running.delete(pid);
      watch();
      resolve();
    }),
  );
  const text = () => readFileSync(logFile, 'utf8');
  const isReady = typeof ready === 'string' ? () => Promise.resolve(text().includes(ready)) : ready;
  for (const until = Date.now() + READY_WITHIN_MS; !(await isReady()); await sleep(50)) {
    if (child.exitCode === null && child.signalCode === null && Date.now() < until) continue;
    child.kill('SIGKILL');
    throw new Error(`${name} did not come up. The end of ${logFile}:\n${text().slice(-2_000)}`);
  }
  return {
    name,
    pid,
    // Nothing of a contender is used again, so nothing needs to be put in order.
    stop: () => (child.kill(options.graceful ? 'SIGTERM' : 'SIGKILL'), ended),
  };
}

function watch(): void {
  guard.watch([...running.keys()]);
}

/** Ends the guard; nothing may run any more. */
export function dismissGuard(): void {
  guard.dismiss();
}

export function signalAll(processes: readonly Spawned[], signal: 'SIGSTOP' | 'SIGCONT'): void {
  for (const { pid } of processes) process.kill(pid, signal);
}

/** Processor seconds of a process so far, with all it has started, living or ended. */
export function cpuSeconds(pid: number): number {
  const stats = allStats();
  let ticks = 0;
  for (const one of treeOf(pid, stats)) ticks += stats.get(one)?.ticks ?? 0;
  return ticks / TICKS_PER_SECOND;
}

/** Forgets the peak so far. */
export function resetPeak(pid: number): void {
  for (const one of treeOf(pid, allStats())) {
    try {
      writeFileSync(`/proc/${one}/clear_refs`, '5');
    } catch {
      // Ended meanwhile, or another user's and we may not: then the peak is that of its whole life.
    }
  }
}

/** Peak memory since then in MB; of what a process has started, the part that it does not share. */
export function peakMb(pid: number): number {
  let kb = 0;
  for (const one of treeOf(pid, allStats())) {
    const status = readOr(`/proc/${one}/status`);
    const field = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
    kb += field('VmHWM') - (one === pid ? 0 : field('RssShmem') + field('RssFile'));
  }
  return kb / 1024;
}

type Stats = Map<number, { parent: number; ticks: number }>;

function allStats(): Stats {
  const stats: Stats = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    // Behind the program's name in brackets, which may hold spaces: state, parent, ...; 11 to 14 are the times.
    const fields = readOr(`/proc/${name}/stat`).split(') ').pop()!.split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    stats.set(Number(name), { parent: Number(fields[1]), ticks });
  }
  return stats;
}

function treeOf(root: number, stats: Stats): number[] {
  const tree = [root];
  for (const one of tree) for (const [pid, { parent }] of stats) if (parent === one) tree.push(pid);
  return tree;
}

function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
