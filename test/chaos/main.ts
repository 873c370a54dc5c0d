/**
 * `npm run chaos`: the product under faults, judged by a model of its own. Exit codes: 0 nothing was lost, doubled or
 * half done and every fault hit; 1 something was, or a fault did not hit; 2 it could not run.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { campaign } from './campaign';
import { DEFAULT_SIZES, faultsOf } from './faults';
import type { Fault } from './faults/fault';
import { Lab } from './lab';
import { mutate } from './mutate';
import { report, versions } from './report';

interface Options {
  seed: number;
  minutes: number;
  awayMinutes: number;
  burst: number;
  fault?: string;
  list?: true;
  mutations?: true;
  out?: string;
  keep?: true;
}

const say = (line: string) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);

const program = new Command('chaos')
  .description('Runs the product under load and faults, and proves that stock was changed exactly once.')
  .option('--seed <number>', 'the load and the order of faults; printed', whole, Date.now() % 1_000_000)
  .option('--minutes <number>', 'inject for at least as long; each fault at least once', Number, 1)
  .option('--fault <names>', 'only these, separated by commas')
  .option('--away-minutes <number>', 'how long a server is away', positive, DEFAULT_SIZES.awaySeconds / 60)
  .option('--burst <records>', 'how many at once', positive, DEFAULT_SIZES.burst)
  .option('--list', 'print the faults and what they do')
  .option('--mutations', 'turn off each protection of the product in turn: the verdict has to notice')
  .option('--out <file>', 'write the table to this file, as Markdown')
  .option('--keep', 'keep data and logs')
  .exitOverride();

async function main(): Promise<number> {
  const options = program.parse().opts<Options>();
  const all = faultsOf({ awaySeconds: options.awayMinutes * 60, burst: options.burst });
  const faults = options.fault === undefined ? all : named(options.fault, all);
  if (options.list) {
    for (const { name, does } of faults) console.log(`${name.padEnd(24)} ${does}`);
    return 0;
  }
  const dir = mkdtempSync(join(tmpdir(), 'inventory-chaos-'));
  say(`seed ${options.seed}, data and logs in ${dir}`);
  try {
    if (options.mutations) return await mutate(dir, options.seed, say);
    const lab = await Lab.open({ dir, seed: options.seed, say });
    try {
      const result = await campaign(lab, faults, options.minutes);
      const text = report(result, { seed: options.seed, versions: await versions(lab), lab });
      console.log(text);
      if (options.out !== undefined) writeFileSync(options.out, `${text}\n`);
      const unproved = result.bites.filter(({ proof }) => proof === undefined);
      return result.verdict.findings.length === 0 && unproved.length === 0 ? 0 : 1;
    } finally {
      await lab.close();
    }
  } finally {
    if (!options.keep) rmSync(dir, { recursive: true, force: true });
  }
}

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('must be a whole number.');
  return Number(text);
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value < 1e7)) throw new InvalidArgumentError('must be a number above 0.');
  return value;
}

function named(text: string, all: readonly Fault[]): Fault[] {
  return text.split(',').map((name) => {
    const found = all.find((fault) => fault.name === name.trim());
    return found ?? program.error(`--fault: ${name} is none of ${all.map((f) => f.name).join(', ')}.`);
  });
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2);
    console.error(error);
    process.exit(2);
  },
);
