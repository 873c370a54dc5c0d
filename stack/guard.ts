/** Ends the servers when the program that started them is gone without stopping them (kill -9, a crash). */
import { spawn } from 'node:child_process';

export interface Guard {
  /** Replaces the list of processes that must not outlive this program. */
  watch(pids: number[]): void;
  /** Ends the guard without touching what it watches. */
  dismiss(): void;
}

/**
 * A shell that reads lists of process IDs until its input ends, which happens however this program ends, and then
 * kills the last list. In a session of its own, it isn't hit by a Ctrl-C meant for this program.
 */
export function startGuard(): Guard {
  const script = 'while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -9 $pids';
  const shell = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  shell.on('error', () => {});
  shell.stdin.on('error', () => {});
  shell.unref();
  (shell.stdin as unknown as { unref(): void }).unref();
  return {
    watch: (pids) => void shell.stdin.write(`${pids.join(' ')}\n`),
    dismiss: () => void shell.kill('SIGKILL'),
  };
}
