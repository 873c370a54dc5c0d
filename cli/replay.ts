import type { Command } from 'commander';
import { Forecast } from '../activities/forecast';
import type { Policy } from '../activities/judge';
import { createGroupingStarter } from '../bridge/group';
import { openAdmin } from '../bridge/kafka';
import { resolveSpans, spanSize, type Spans, type Wish } from '../bridge/replaySpans';
import { createLauncher, createStarter } from '../bridge/start';
import { createDecoder, TOPIC_NAMES } from '../bridge/topics';
import type { Config } from '../config';
import { topicSettings } from '../connections';
import { createLogger } from '../log';
import type { Temporal } from '../temporal';
import { EXIT, print, quietKafka, settings, UsageError, withDatabase, withTemporal } from './context';
import { Progress } from './progress';
import { applySpan } from './replayApply';
import {
  checkpointFile,
  readCheckpoint,
  removeCheckpoint,
  writeCheckpoint,
  type ReplayCheckpoint,
} from './replayCheckpoint';
import { differencesOf, type Counts } from './replayCounts';
import { forecastSpan } from './replayForecast';
import { printReplay, type Report } from './replayReport';
import { spanOptions, topicOf, wishOf, type SpanOptions } from './span';
import { number } from './trace';

interface Options extends SpanOptions {
  apply?: boolean;
  rate: number;
  out?: string;
  checkpoint?: string;
  json?: boolean;
}

/** `inventory replay TOPIC`: tells beforehand what a replay would change, and does it on demand. */
export function registerReplay(program: Command): void {
  spanOptions(program.command('replay'))
    .description(
      'forecast what reading a span of a topic again would change; with --apply, do it\n' +
        'exit code 0: nothing would change, or all was applied as forecast, 1: something would, or came otherwise, 2: could not run',
    )
    .argument('<topic>', `Kafka's name of the topic, or one of ${TOPIC_NAMES.join(', ')}`)
    .option('--dry-run', 'only the forecast; the default')
    .option('--apply', 'after the forecast, carry it out as live events are; a worker has to run')
    .option('--rate <n>', 'with --apply: at most so many commands a second', number, 200)
    .option('--out <file>', 'write what each record would come to, a JSON line each')
    .option(
      '--checkpoint <file>',
      'with --apply: where to keep how far it came; the same command goes on from there',
    )
    .option('--json', 'print the result as JSON')
    .action(run);
}

async function run(given: string, options: Options): Promise<void> {
  if (options.rate < 1) throw new UsageError('--rate must be 1 or more');
  const config = settings();
  const topic = topicOf(config, given);
  const wish = wishOf(options);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => (stop.signal.aborted ? process.exit(EXIT.couldNotRun) : stop.abort()));
  }
  const words = {
    from: options.from,
    to: options.to,
    partition: options.partition,
    offsets: options.offsets,
  };
  const file = options.checkpoint ?? checkpointFile(topic, words);
  const of = JSON.stringify([topic, words]);
  const stored = options.apply ? readCheckpoint(file, of) : undefined;
  const report = stored
    ? { topic, records: 0, forecast: stored.forecast, changes: [], notes: [`goes on from ${file}`] }
    : await forecastOf(config, topic, wish, options, stop.signal);
  if (stop.signal.aborted) return stopped('nothing was changed');
  if (!options.apply) return finish(report, options, changesSomething(report.forecast));
  if (!options.json && !stored) printReplay(report);
  const startedAt = new Date().toISOString();
  const checkpoint = stored ?? { spans: report.spans!, startedAt, forecast: report.forecast, done: {} };
  const applied = await apply(config, topic, { options, checkpoint, file, of, signal: stop.signal });
  if (stop.signal.aborted) return stopped(`the same command goes on from ${file}`);
  removeCheckpoint(file);
  const differences = differencesOf(checkpoint.forecast, checkpoint.done);
  const notes = [...report.notes, ...applied.notes];
  finish(
    { ...report, records: applied.records, notes, done: checkpoint.done, differences },
    options,
    differences.length > 0,
  );
}

async function forecastOf(
  config: Config,
  topic: string,
  wish: Wish,
  options: Options,
  signal: AbortSignal,
): Promise<Report> {
  const kafka = quietKafka(config);
  const { spans, notes } = await spansOf(config, topic, wish);
  const of = spanSize(spans);
  const progress = new Progress('forecast');
  const startedAt = Date.now();
  return withDatabase(config, async (database) => {
    const forecast = new Forecast(database, policyOf(config));
    const read = await forecastSpan({
      kafka,
      topic,
      spans,
      decode: createDecoder(topicSettings(config)),
      forecast,
      out: options.out,
      signal,
      onProgress: (records) => progress.show(records, of),
    });
    progress.clear();
    return {
      topic,
      spans,
      records: read.records,
      seconds: (Date.now() - startedAt) / 1_000,
      forecast: read.counts,
      changes: [...forecast.changes].filter(([, change]) => !change.eq(0)),
      notes: [...notes, ...read.notes],
    };
  });
}

export async function spansOf(config: Config, topic: string, wish: Wish): Promise<Spans> {
  const admin = await openAdmin(quietKafka(config));
  return resolveSpans(admin, topic, wish).finally(() => admin.close());
}

export function policyOf(config: Config): Policy {
  return { belowZeroRefuse: config.BELOW_ZERO_REFUSE };
}

interface Applying {
  options: Options;
  checkpoint: ReplayCheckpoint;
  file: string;
  of: string;
  signal: AbortSignal;
}

async function apply(config: Config, topic: string, { options, checkpoint, file, of, signal }: Applying) {
  const left = spanSize(checkpoint.spans);
  const progress = new Progress('replay');
  writeCheckpoint(file, of, checkpoint);
  return withDatabase(config, (database) =>
    withTemporal(config, async (temporal) => {
      const applied = await applySpan({
        kafka: quietKafka(config),
        topic,
        database,
        policy: policyOf(config),
        starter: starterOf(config, temporal),
        perSecond: options.rate,
        decode: createDecoder(topicSettings(config)),
        checkpoint,
        signal,
        onCheckpoint: (so) => writeCheckpoint(file, of, so),
        onProgress: (records) => progress.show(records, left),
      });
      progress.clear();
      return applied;
    }),
  );
}

/** As the bridge has it: below its rate a workflow each, above it in groups. */
function starterOf(config: Config, temporal: Temporal) {
  const client = temporal.client.workflow;
  const log = createLogger('silent');
  const launch = createLauncher({
    client,
    taskQueue: config.TEMPORAL_TASK_QUEUE,
    eager: false,
    concurrency: config.START_CONCURRENCY,
    searchAttributes: true,
    log,
  });
  return createGroupingStarter(createStarter(launch), launch, {
    singleStartsPerSecond: config.SINGLE_STARTS_PER_SECOND,
    groupMax: config.GROUP_MAX,
    groupLingerMs: config.GROUP_LINGER_MS,
    client,
    log,
  });
}

function changesSomething(counts: Counts): boolean {
  const quiet = new Set<string>([
    'already-applied',
    'already-there',
    'repeated',
    'refused-earlier',
    'ignored',
  ]);
  return Object.keys(counts).some((what) => !quiet.has(what));
}

function finish(report: Report, { json }: Options, found: boolean): void {
  printReplay(report, json);
  if (found) process.exitCode = EXIT.foundSomething;
}

function stopped(what: string): void {
  print(`stopped: ${what}`);
  process.exitCode = EXIT.couldNotRun;
}
