/** `npm run stack`: the servers for a person's own machine, until Ctrl-C. */
import { Command } from 'commander';

import { StackError } from './problems';
import { stopRunning, usableEnv } from './running';
import type { Stack } from './stack';
import { startStack } from './stack';

interface Flags {
  data: string;
  detach?: boolean;
  stop?: boolean;
  fresh?: boolean;
  freePorts?: boolean;
}

const say = (line: string) => console.error(line);

async function main(): Promise<void> {
  const program = new Command('npm run stack --')
    .description(
      'Starts Kafka, MongoDB and Temporal with its Web UI on this machine, and stops them on Ctrl-C.',
    )
    .option('--detach', 'leave the servers running and return; npm run stack:stop ends them')
    .option('--stop', 'stop the servers of this data folder, however they were started')
    .option('--fresh', 'forget all data first')
    .option('--free-ports', 'use ports that are free instead of 9092, 9093, 27017, 7233 and 8233')
    .option('--data <folder>', 'where data and logs are kept', '.stack')
    .allowExcessArguments(false)
    .parse();
  const flags = program.opts<Flags>();
  if (flags.stop) return stop(flags.data);

  const running = flags.detach && !flags.fresh ? usableEnv(flags.data) : undefined;
  if (running) {
    say(`The stack already runs on ${flags.data}.`);
    return printAddresses(running);
  }
  await start(flags);
}

async function stop(data: string): Promise<void> {
  const stopped = await stopRunning(data);
  say(
    stopped === 0 ? `No stack runs on ${data}.` : `Stopped ${stopped} servers; their data stays in ${data}.`,
  );
}

async function start(flags: Flags): Promise<void> {
  let stack: Stack | undefined = undefined;
  let stopping: Promise<void> | undefined;
  const end = (code: number) => {
    // A second Ctrl-C does not wait: what still runs is killed.
    stopping = (stopping === undefined ? stack?.stop() : stack?.stop(0)) ?? Promise.resolve();
    void stopping.then(() => process.exit(code));
  };
  process.on('SIGINT', () => end(130));
  process.on('SIGTERM', () => end(143));
  process.on('SIGHUP', () => end(129));

  stack = await startStack({
    dataDir: flags.data,
    ports: flags.freePorts ? 'free' : 'fixed',
    fresh: flags.fresh ?? false,
    detached: flags.detach ?? false,
    onProgress: say,
    onDeath: (error) => {
      if (stopping) return;
      say(error.message);
      end(1);
    },
  });
  printAddresses(stack.env);
  if (flags.detach) {
    say(`The servers go on; npm run stack:stop ends them. Logs: ${stack.dataDir}/logs`);
    return;
  }
  say(`Ctrl-C stops the servers. Logs: ${stack.dataDir}/logs`);
  await new Promise(() => setInterval(() => {}, 2 ** 30));
}

/** To standard output and nothing else there, so that a shell can take them in with `eval`. */
function printAddresses(env: Record<string, string>): void {
  for (const [name, value] of Object.entries(env)) console.log(`export ${name}='${value}'`);
}

main().catch((error: unknown) => {
  console.error(error instanceof StackError ? error.message : error);
  process.exitCode = 1;
});
