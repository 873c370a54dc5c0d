import type { Command } from 'commander';
import { checkDatabase, setupDatabase } from '../activities/setup';
import { checkTopics, setupTopics } from '../bridge/setup';
import { describeConfig } from '../config';
import { topicPlan } from '../connections';
import { checkTemporal, setupTemporal } from '../temporal';
import { checkTimeLimits } from '../worker';
import { EXIT, print, quietKafka, settings, visible, withDatabase, withTemporal } from './context';

/** `inventory setup | doctor | config`: what has to be there before the processes start. */
export function registerSetup(program: Command): void {
  program
    .command('setup')
    .description('create missing topics, indexes and search attributes; safe to repeat')
    .action(setup);
  program
    .command('doctor')
    .description('check everything that start-up checks, one line each')
    .action(doctor);
  program
    .command('config')
    .description('print the effective settings, secrets masked')
    .action(() => print(describeConfig(settings())));
}

async function setup(): Promise<void> {
  const config = settings();
  const created = await setupTopics(quietKafka(config), topicPlan(config));
  print(created.length > 0 ? `topics created: ${created.join(', ')}` : 'topics exist');
  await withDatabase(config, setupDatabase);
  print('MongoDB collections and indexes are there');
  await withTemporal(config, setupTemporal);
  print('Temporal search attributes are there');
}

async function doctor(): Promise<void> {
  const config = settings();
  const checks: Record<string, () => string | Promise<string>> = {
    kafka: () => checkTopics(quietKafka(config), topicPlan(config)),
    mongodb: () => withDatabase(config, checkDatabase),
    temporal: () => withTemporal(config, checkTemporal),
    limits: () => checkTimeLimits(),
  };
  for (const [name, check] of Object.entries(checks)) {
    try {
      print(`ok    ${name.padEnd(9)} ${await check()}`);
    } catch (error) {
      process.exitCode = EXIT.foundSomething;
      print(visible(`FAULT ${name.padEnd(9)} ${(error as Error).message}`));
    }
  }
}
