#!/usr/bin/env node
/**
 * The program `inventory`: one verb per process. Exit codes: 0 fine, 1 a check found something, 2 could not run.
 */
import { Command } from 'commander';
import dotenv from 'dotenv';
import { connectDatabase } from './activities/models';
import { checkDatabase, setupDatabase } from './activities/setup';
import { openKafka } from './bridge/kafka';
import { checkTopics, setupTopics } from './bridge/setup';
import { describeConfig, readConfig, type Config } from './config';
import { kafkaSettings, topicPlan } from './connections';
import { createLogger } from './log';
import { run, type Parts } from './run';
import { checkTemporal, connectTemporal, routeTemporalLogs, setupTemporal } from './temporal';
import { checkTimeLimits } from './worker';

const program = new Command('inventory')
  .description('Changes stock exactly once in effect for every business event that Kafka delivers.')
  .showHelpAfterError()
  .exitOverride();

program
  .command('setup')
  .description('create missing topics, indexes and search attributes; safe to repeat')
  .action(setup);
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
program.command('doctor').description('check everything that start-up checks, one line each').action(doctor);
program
  .command('config')
  .description('print the effective settings, secrets masked')
  .action(() => print(describeConfig(settings())));

async function setup(): Promise<void> {
  const config = settings();
  const plan = topicPlan(config);
  const created = await setupTopics(openKafka(kafkaSettings(config), createLogger(config.LOG_LEVEL)), plan);
  print(created.length > 0 ? `topics created: ${created.join(', ')}` : 'topics exist');
  await withDatabase(config, setupDatabase);
  print('MongoDB collections and indexes are there');
  await withTemporal(config, setupTemporal);
  print('Temporal search attributes are there');
}

async function doctor(): Promise<void> {
  const config = settings();
  const kafka = openKafka(kafkaSettings(config), createLogger('silent'));
  const checks: Record<string, () => string | Promise<string>> = {
    kafka: () => checkTopics(kafka, topicPlan(config)),
    mongodb: () => withDatabase(config, checkDatabase),
    temporal: () => withTemporal(config, checkTemporal),
    limits: () => checkTimeLimits(),
  };
  for (const [name, check] of Object.entries(checks)) {
    try {
      print(`ok    ${name.padEnd(9)} ${await check()}`);
    } catch (error) {
      process.exitCode = 1;
      print(`FAULT ${name.padEnd(9)} ${(error as Error).message}`);
    }
  }
}

/** Runs until SIGTERM or SIGINT and then drains; a second signal ends at once. */
async function untilStopped(parts: Parts): Promise<void> {
  const config = settings();
  const log = createLogger(config.LOG_LEVEL);
  routeTemporalLogs(log);
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(128 + (signal === 'SIGINT' ? 2 : 15));
      log.info({ signal }, 'stopping; a second signal ends at once');
      stop.abort();
    });
  }
  await run(config, parts, log, stop.signal);
}

async function withDatabase<T>(
  config: Config,
  work: (database: Awaited<ReturnType<typeof connectDatabase>>) => Promise<T>,
) {
  const database = await connectDatabase(config.MONGO_URL);
  try {
    return await work(database);
  } finally {
    await database.connection.close();
  }
}

async function withTemporal<T>(
  config: Config,
  work: (temporal: Awaited<ReturnType<typeof connectTemporal>>) => Promise<T>,
) {
  const temporal = await connectTemporal(config);
  try {
    return await work(temporal);
  } finally {
    await temporal.connection.close();
  }
}

function settings(): Config {
  dotenv.config({ quiet: true });
  return readConfig(process.env);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

program.parseAsync().catch((error: unknown) => {
  // commander has said it already, and asking for help is no fault.
  if (error instanceof Error && 'exitCode' in error) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else {
    process.stderr.write(`inventory: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  }
});
