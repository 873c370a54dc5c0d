import type { Command } from 'commander';
import { tracing } from '../instrument';
import { createLogger } from '../log';
import { run, type Parts } from '../run';
import { settings } from './context';

/** For whatever closes by itself. */
const LEFT_OPEN_MS = 2_000;

/** `inventory run | bridge | worker`: the processes that stay. */
export function registerService(program: Command): void {
  program
    .command('run')
    .description('bridge and worker in one process (eager start)')
    .action(() => untilStopped({ bridge: true, worker: true }));
  program
    .command('bridge')
    .description('Kafka in, workflows started')
    .action(() => untilStopped({ bridge: true, worker: false }));
  program
    .command('worker')
    .description('workflows and activities')
    .action(() => untilStopped({ bridge: false, worker: true }));
}

/** Runs until SIGTERM or SIGINT and then drains; a second signal ends at once. */
async function untilStopped(parts: Parts): Promise<void> {
  const config = settings();
  const log = createLogger(config.LOG_LEVEL);
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(128 + (signal === 'SIGINT' ? 2 : 15));
      log.info({ signal }, 'stopping; a second signal ends at once');
      stop.abort();
    });
  }
  try {
    await run(config, parts, log, stop.signal, tracing);
  } finally {
    await tracing?.stop();
    // Nothing is left to do; a connection that some client has not closed must not keep the process.
    setTimeout(() => process.exit(), LEFT_OPEN_MS).unref();
  }
}
