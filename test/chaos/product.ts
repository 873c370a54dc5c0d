/** The product as the processes that a deployment has, started, killed, and started again when they end by themselves. */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startGuard } from '../../stack/guard';
import { ended, type Ended } from '../output';

const CLI = path.join(__dirname, '..', '..', 'cli.js');
const READY_WITHIN_MS = 240_000;
/** What the documentation tells operators to give it. */
const MOST_DRAIN_MS = 60_000;
/** In a row; a server that is away makes a start fail, for a while. */
const MOST_FAILED_STARTS = 60;

export interface StartOptions {
  env?: Record<string, string>;
  /** Modules that Node loads first. */
  preloads?: string[];
  /** Resolves once the process exists instead of once it works. */
  atOnce?: boolean;
}

interface Running {
  child: ChildProcess;
  ended: Promise<string>;
  options: StartOptions;
}

/** How a process that nobody stopped has ended. */
export interface Death {
  name: string;
  how: string;
  lastLine: string;
}

export class Product {
  /** Ends that nobody asked for. */
  readonly deaths: Death[] = [];
  private readonly running = new Map<string, Running>();
  private readonly wanted = new Set<string>();
  private readonly guard = startGuard();

  constructor(
    private readonly dir: string,
    private readonly env: Record<string, string>,
    private readonly preloads: string[] = [],
  ) {
    mkdirSync(dir, { recursive: true });
  }

  /** @param name `bridge-1`, `worker-2`, `run-1`: the verb comes first */
  async start(name: string, options: StartOptions = {}): Promise<void> {
    const logFile = this.logFile(name);
    const log = openSync(logFile, 'a');
    const from = this.log(name).length;
    const deaths = this.deaths.length;
    const preloads = [...this.preloads, ...(options.preloads ?? [])].flatMap((file) => ['--require', file]);
    const child = spawn(process.execPath, [...preloads, CLI, name.split('-')[0]!], {
      env: { ...this.env, ...options.env },
      stdio: ['ignore', log, log],
      cwd: this.dir,
    });
    closeSync(log);
    const ended = new Promise<string>((resolve) =>
      child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`)),
    );
    const running: Running = { child, ended, options };
    this.running.set(name, running);
    this.wanted.add(name);
    this.watch();
    void ended.then((how) => this.onEnd(name, running, how));
    if (options.atOnce) return;
    const ready = name.startsWith('worker') ? 'worker takes work' : 'bridge reads';
    for (
      const until = Date.now() + READY_WITHIN_MS;
      !this.log(name).slice(from).includes(ready);
      await sleep(50)
    ) {
      const failed = this.deaths.slice(deaths).filter((death) => death.name === name);
      if (failed.length > MOST_FAILED_STARTS)
        throw new Error(`${name} does not start: ${failed[0]!.lastLine}`);
      if (Date.now() > until) throw new Error(`${name} does not come up, see ${logFile}`);
    }
  }

  /** Sends a signal and takes no note of it. */
  signal(name: string, signal: NodeJS.Signals): void {
    this.running.get(name)?.child.kill(signal);
  }

  /** Resolves with how it ended; it is not started again by itself. */
  async kill(name: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<string> {
    // One that ended by itself is about to be started again.
    while (!this.running.has(name) && this.wanted.has(name)) await sleep(50);
    const running = this.running.get(name);
    if (!running) throw new Error(`${name} does not run`);
    this.wanted.delete(name);
    running.child.kill(signal);
    const late = sleep(MOST_DRAIN_MS, undefined, { ref: false }).then(() => {
      throw new Error(`${name} still runs ${MOST_DRAIN_MS / 1_000} s after ${signal}`);
    });
    return Promise.race([running.ended, late]);
  }

  /** Resolves with how it ends by itself; it is then not started again. */
  async end(name: string, withinMs: number): Promise<string | undefined> {
    const running = this.running.get(name);
    if (!running) throw new Error(`${name} does not run`);
    this.wanted.delete(name);
    return Promise.race([running.ended, sleep(withinMs, undefined, { ref: false })]);
  }

  pid(name: string): number {
    return this.running.get(name)?.child.pid ?? 0;
  }

  isRunning(name: string): boolean {
    return this.running.has(name);
  }

  names(verb: string): string[] {
    return [...this.running.keys()].filter((name) => name.startsWith(verb)).sort();
  }

  /** Everything that all processes of this name have logged. */
  log(name: string): string {
    try {
      return readFileSync(this.logFile(name), 'utf8');
    } catch {
      return '';
    }
  }

  /** Why a process says that it is not ready, as an operator's probe asks it; empty when it says that it is. */
  async notReady(name: string): Promise<string> {
    const url = [...this.log(name).matchAll(/"url":"(http:[^"]+)"/g)].at(-1)?.[1];
    if (url === undefined) throw new Error(`${name} does not say where it can be probed`);
    const answer = await fetch(`${url}/readyz`);
    if (answer.status === 200) return '';
    const { parts } = (await answer.json()) as { parts: Record<string, { reasons: string[] }> };
    return Object.values(parts)
      .flatMap(({ reasons }) => reasons)
      .join('; ');
  }

  /** How often a text stands in the logs of all processes whose name begins so. */
  count(verb: string, text: string): number {
    return this.names(verb).reduce((sum, name) => sum + this.log(name).split(text).length - 1, 0);
  }

  /** Runs another verb to its end. */
  async cli(...args: string[]): Promise<Ended> {
    const child = spawn(process.execPath, [CLI, ...args], {
      env: this.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return ended(child);
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    this.wanted.clear();
    for (const { child } of this.running.values()) child.kill('SIGCONT');
    await Promise.all([...this.running.keys()].map((name) => this.kill(name, signal)));
    this.guard.dismiss();
  }

  private onEnd(name: string, running: Running, how: string): void {
    if (this.running.get(name) === running) this.running.delete(name);
    this.watch();
    if (!this.wanted.has(name)) return;
    const lastLine = this.log(name).trimEnd().split('\n').at(-1) ?? '';
    this.deaths.push({ name, how, lastLine: lastLine.slice(0, 300) });
    // As whatever runs containers does.
    setTimeout(() => {
      if (this.wanted.has(name)) void this.start(name, { ...running.options, atOnce: true });
    }, 1_000);
  }

  private watch(): void {
    this.guard.watch([...this.running.values()].flatMap(({ child }) => child.pid ?? []));
  }

  private logFile(name: string): string {
    return path.join(this.dir, `${name}.log`);
  }
}
