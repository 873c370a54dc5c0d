/** One server as a child process: started, watched until it answers, killed, frozen, restarted, stopped. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { StackError } from './problems';

export type ServerName = 'kafka' | 'mongo' | 'temporal';

/** What a kind of server is to this file. */
export interface Launch {
  name: ServerName;
  logFile: string;
  program: string;
  args: string[];
  /** Resolves once the server does its work; asks again and again until `signal` says that it won't. */
  ready: (signal: AbortSignal) => Promise<void>;
}

const READY_WITHIN_MS = 90_000;
const STOP_WITHIN_MS = 10_000;
const LAST_LINES = 12;

/** A running server. Its ports and its data stay the same through {@link Server.restart}. */
export class Server {
  private child: ChildProcess | undefined;
  private ended: Promise<string> = Promise.resolve('not started');
  private wanted = false;
  private logStart = 0;

  /**
   * @param onPid is told whenever this server has another process, or none.
   * @param onDeath is told when the server ends by itself after it was ready.
   */
  constructor(
    private readonly launch: Launch,
    private readonly onPid: () => void,
    private readonly onDeath: (error: StackError) => void,
  ) {}

  /** The process ID, or `undefined` while it does not run. */
  get pid(): number | undefined {
    return this.child?.pid;
  }

  get logFile(): string {
    return this.launch.logFile;
  }

  /**
   * Starts the process and resolves once it is ready.
   * @throws StackError with the last lines of its log if it dies before, or is not ready within 90 seconds.
   */
  async start(): Promise<void> {
    this.spawn();
    const giveUp = new AbortController();
    const ready = this.launch.ready(giveUp.signal).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    try {
      const problem = await Promise.race([ready, this.ended]);
      if (problem !== undefined) throw this.report(problem);
      this.wanted = true;
    } catch (error) {
      await this.stop(0);
      throw error;
    } finally {
      giveUp.abort();
    }
    void this.ended.then((how) => {
      if (this.wanted) this.onDeath(this.report(how));
    });
  }

  /** Sends a signal (SIGKILL, SIGSTOP, SIGCONT, ...). Resolves at once, or after SIGKILL when the process is gone. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') this.wanted = false;
    this.child?.kill(signal);
    if (signal === 'SIGKILL') await this.end();
  }

  /** Ends the process, if it still runs, and starts it again on the same ports and data. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Asks the process to end, and ends it with SIGKILL if it has not after `withinMs` (0: at once). */
  async stop(withinMs: number = STOP_WITHIN_MS): Promise<void> {
    this.wanted = false;
    if (withinMs > 0) {
      // A frozen process hears no other signal than this one before SIGTERM.
      this.child?.kill('SIGCONT');
      this.child?.kill('SIGTERM');
      const patience = new AbortController();
      const enough = sleep(withinMs, undefined, { signal: patience.signal }).catch(() => {});
      await Promise.race([this.end(), enough]);
      patience.abort();
    }
    await this.kill('SIGKILL');
  }

  /** A child that runs on keeps this program from ending only while its end is awaited. */
  private end(): Promise<string> {
    this.child?.ref();
    return this.ended;
  }

  private spawn(): void {
    const { program, args, logFile } = this.launch;
    mkdirSync(dirname(logFile), { recursive: true });
    this.logStart = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
    const log = openSync(logFile, 'a');
    // In a session of its own, Ctrl-C on the terminal reaches only the program that stops the servers in order.
    const child = spawn(program, args, {
      detached: true,
      stdio: ['ignore', log, log],
      cwd: dirname(logFile),
    });
    closeSync(log);
    child.unref();
    this.child = child;
    this.ended = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(`could not be started: ${error.message}`));
      child.once('exit', (code, signal) => resolve(`ended by itself (${signal ?? `exit code ${code}`})`));
    }).then((how) => {
      if (this.child === child) this.child = undefined;
      this.onPid();
      return how;
    });
    this.onPid();
  }

  private report(how: string): StackError {
    const lines = readFileSync(this.logFile).subarray(this.logStart).toString().trimEnd().split('\n');
    const last = lines.slice(-LAST_LINES).map((line) => `  ${line.slice(0, 400)}`);
    return new StackError(`${this.launch.name} ${how}. The end of ${this.logFile}:\n${last.join('\n')}`);
  }
}

/**
 * Calls `ask` every 100 ms until it answers true; what it throws counts as no.
 * @throws Error with the last of what `ask` threw, after 90 seconds.
 */
export async function until(ask: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  const enough = Date.now() + READY_WITHIN_MS;
  let last = 'it answers that it is not';
  while (!signal.aborted) {
    try {
      if (await ask()) return;
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    if (Date.now() > enough) throw new Error(`is not ready after ${READY_WITHIN_MS / 1000} s (${last})`);
    await sleep(100);
  }
}
