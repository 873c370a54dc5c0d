/**
 * `npm run bench`: everybody who could do this job, measured on this machine in one run, and written into
 * docs/benchmark.md. No number in that file was typed by hand.
 */
import { chmodSync, mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { connectDatabase } from '../../activities/models';
import { buildWorkflowBundle } from '../../bundle';
import { startStack } from '../../stack/stack';
import { forgetOtherServers } from '../setup';
import { CONTENDERS, whyNot, type ContenderName } from './contenders';
import { writeDocument } from './document';
import { describeRun } from './machine';
import { measureTurn, type Plan } from './measure';
import { dismissGuard } from './processes';
import { openRaw, type Sample } from './results';
import { ROOT } from './rivalServers';
import type { Bench } from './turn';
import { WORKLOADS, type WorkloadName } from './workloads';

interface Options {
  runs: number;
  contenders: ContenderName[];
  workloads: WorkloadName[];
  events: number;
  rates: number[];
  latencySeconds: number;
  ledger: number[];
  processes: number[];
  quick?: true;
  growth?: true;
  render?: true;
  profile?: true;
  temporal?: string;
  out: string;
}

const say = (line: string) => process.stderr.write(`${line}\n`);

const program = new Command('bench')
  .description('Measures every contender on this machine and writes docs/benchmark.md.')
  .option('--runs <count>', 'how often everything is measured', whole, 3)
  .option(
    '--contenders <names>',
    `of ${Object.keys(CONTENDERS).join(', ')}`,
    names(CONTENDERS),
    keysOf(CONTENDERS),
  )
  .option(
    '--workloads <names>',
    `of ${Object.keys(WORKLOADS).join(', ')}`,
    names(WORKLOADS),
    keysOf(WORKLOADS),
  )
  .option(
    '--events <count>',
    'in a backlog for the fastest; slower contenders get a fixed share',
    whole,
    20_000,
  )
  .option('--rates <list>', 'events per second at which latency is measured', wholes, [20, 200])
  .option('--latency-seconds <count>', 'how long each', whole, 10)
  .option('--ledger <list>', 'entries in the ledger beforehand', wholes, [0])
  .option('--processes <list>', 'processes of the contender', wholes, [1])
  .option('--quick', 'small sizes, one run, nothing written to docs: to check the harness')
  .addOption(
    new Option('--growth', 'cost growth instead: ten times the ledger, and 1, 2, 4 processes').conflicts(
      'temporal',
    ),
  )
  .option('--render', 'writes tables and plot again from the raw files, without measuring')
  .option('--profile', 'keeps a CPU profile of our own processes')
  .option(
    '--temporal <address>',
    'a Temporal on this machine that "inventory setup" has set up, instead of a dev server; without TLS, namespace default',
    local,
  )
  .option('--out <folder>', 'where document and raw files are', path.join(ROOT, 'docs'));

async function main(): Promise<void> {
  const options = program.parse().opts<Options>();
  if (options.render) return writeDocument(options.out);
  forgetOtherServers();
  if (options.quick) {
    Object.assign(options, {
      runs: 1,
      events: 2_000,
      latencySeconds: 2,
      out: path.join(ROOT, '.stack', 'bench-quick'),
    });
  }
  mkdirSync(options.out, { recursive: true });
  const dir = mkdtempSync(path.join(os.tmpdir(), 'inventory-bench-'));
  // PostgreSQL runs as another user when this runs as root.
  chmodSync(dir, 0o755);
  const stack = await startStack({
    dataDir: dir,
    ports: 'free',
    servers: ['kafka', 'mongo'],
    onProgress: say,
  });
  const bench: Bench = {
    kafka: new Kafka({ brokers: [stack.env.KAFKA_BROKERS], logLevel: logLevel.NOTHING }),
    brokers: stack.env.KAFKA_BROKERS,
    mongoUrl: stack.env.MONGO_URL,
    dir,
    emptyBundle: path.join(dir, 'empty.js'),
    profile: options.profile ?? false,
    temporalAddress: options.temporal,
    shared: [
      { name: 'kafka', pid: stack.servers.kafka.pid! },
      { name: 'mongodb', pid: stack.servers.mongo.pid! },
    ],
  };
  try {
    const { code } = await buildWorkflowBundle({
      workflowsPath: path.join(__dirname, 'consumers', 'emptyWorkflow.js'),
    });
    writeFileSync(bench.emptyBundle, code);
    const database = await connectDatabase(bench.mongoUrl);
    const where = await describeRun(database, options).finally(() => database.connection.close());
    const samples: Sample[] = [];
    const append = openRaw(path.join(options.out, rawFile(options)), where);
    for (const plan of plans(options)) {
      await measureTurn(bench, plan, (sample) => {
        samples.push(sample);
        append(sample);
        say(line(sample));
      });
    }
    if (
      samples.some((sample) => sample.kind === 'failure' || !['holds', 'no ledger'].includes(sample.check))
    ) {
      process.exitCode = 1;
    }
    await writeDocument(options.out);
  } finally {
    await stack.stop();
    dismissGuard();
    if (options.profile) say(`profiles and logs are kept in ${dir}`);
    else rmSync(dir, { recursive: true, force: true });
  }
}

/** Runs of different kinds stand beside each other in the document. */
function rawFile(options: Options): string {
  if (options.growth) return 'benchmark-growth.jsonl';
  return options.temporal === undefined ? 'benchmark.jsonl' : 'benchmark-server.jsonl';
}

/** Run by run rather than contender by contender: what disturbs the machine for a while hits all of them. */
function* plans(options: Options): Generator<Plan> {
  const growth = options.growth ?? false;
  for (let run = 1; run <= options.runs; run++) {
    for (const contender of options.contenders) {
      const reason = whyNot(contender);
      if (reason) {
        if (run === 1) say(`${contender}: ${reason}`);
        continue;
      }
      const { events, workloads, rates, latencySeconds } = options;
      const common = { run, contender, events, workloads, rates, latencySeconds };
      const [least = 0, ...more] = growth ? [20_000, 200_000] : options.ledger;
      const [one = 1, ...others] = growth ? [1, 2, 4] : options.processes;
      yield { ...common, ledger: least, processes: one };
      for (const ledger of more) yield { ...common, ledger, processes: one };
      for (const processes of others) yield { ...common, ledger: least, processes };
    }
  }
}

function line(sample: Sample): string {
  const who = `run ${sample.run}  ${sample.contender.padEnd(8)} ${sample.processes > 1 ? `x${sample.processes} ` : ''}${sample.ledger > 0 ? `ledger ${sample.ledger} ` : ''}`;
  if (sample.kind === 'failure') return `${who} ${sample.of}: ${sample.reason}`;
  if (sample.kind === 'latency') {
    const { p50, p99 } = sample.committedMs;
    const readable = sample.readableMs
      ? `, readable ${sample.readableMs.p50} / ${sample.readableMs.p99} ms`
      : '';
    return `${who} ${sample.perSecond}/s: p50 ${p50} ms, p99 ${p99} ms${readable}, ledger ${sample.check}`;
  }
  const cpu = Object.entries(sample.cpuPerThousand).map(([name, seconds]) => `${name} ${seconds.toFixed(2)}`);
  return `${who} ${sample.workload.padEnd(11)} ${Math.round(sample.perSecond)}/s (${sample.events} in ${sample.seconds.toFixed(1)} s), cpu/1000 ${cpu.join(' ')}, ledger ${sample.check}`;
}

/** Of another machine, neither clock nor load would be known. */
function local(address: string): string {
  if (!/^(127\.0\.0\.1|localhost):\d+$/.test(address))
    throw new InvalidArgumentError('It is 127.0.0.1:PORT: everything is measured on one machine.');
  return address;
}

function whole(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It is a whole number.');
  return Number(text);
}

function wholes(text: string): number[] {
  return text === '' ? [] : text.split(',').map(whole);
}

function keysOf<K extends string>(known: Record<K, string>): K[] {
  return Object.keys(known) as K[];
}

function names<K extends string>(known: Record<K, string>): (text: string) => K[] {
  return (text) =>
    text.split(',').map((name) => {
      if (!(name in known))
        throw new InvalidArgumentError(`${name} is none of ${Object.keys(known).join(', ')}.`);
      return name as K;
    });
}

main().catch((error: unknown) => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 2;
});
