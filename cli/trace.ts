import { InvalidArgumentError, type Command } from 'commander';
import {
  parseReference,
  traceReference,
  traceStock,
  type Page,
  type StockTrace,
  type TracedEntry,
} from '../activities/trace';
import { searchTopics, type Hit } from '../bridge/searchTopics';
import { createDecoder } from '../bridge/topics';
import { referenceKey, type ReferenceType } from '../commands';
import { parseTime, type Config } from '../config';
import { topicSettings } from '../connections';
import {
  EXIT,
  print,
  printJson,
  printTable,
  quietKafka,
  settings,
  visible,
  withDatabase,
  withTemporal,
} from './context';
import { Progress } from './progress';
import { webUi, workflowsOf, type FoundWorkflow } from './workflows';

interface Options {
  json?: boolean;
  since?: number;
  limit: number;
  before?: number;
  after?: number;
  searchTopic?: boolean;
}

/** `inventory trace REF | STOCK`: why a stock is where it is, and what happened to a document. */
export function registerTrace(program: Command): void {
  program
    .command('trace')
    .description(
      'why a stock is at what it is, or what happened to a document\n' +
        'exit code 0: found, 1: nothing found, 2: could not run',
    )
    .argument('<what>', 'a stock ID, a reference ID such as SO-1, or SALE_ORDER/SO-1')
    .option('--since <time>', 'only what was recorded since (ISO 8601 with a zone, or epoch ms)', time)
    .option('--limit <n>', 'entries of a stock on one page', number, 50)
    .option('--before <sequence>', 'the page before this entry of the stock', number)
    .option('--after <sequence>', 'the page after this entry of the stock', number)
    .option('--search-topic', 'also read the topics for events of this reference')
    .option('--json', 'print everything as JSON')
    .action(run);
}

export function time(text: string): number {
  const ms = parseTime(text);
  if (Number.isNaN(ms))
    throw new InvalidArgumentError('must be an ISO 8601 time with a zone, or epoch milliseconds.');
  return ms;
}

export function number(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('must be a whole number.');
  return Number(text);
}

async function run(what: string, options: Options): Promise<void> {
  const config = settings();
  const { referenceType, referenceId } = parseReference(what);
  const since = options.since === undefined ? undefined : new Date(options.since);
  const page: Page = {
    limit: Math.max(1, options.limit),
    before: options.before,
    after: options.after,
    since,
  };
  const { stock, entries } = await withDatabase(config, async (database) => ({
    stock: await traceStock(database, what, page),
    entries: (await traceReference(database, referenceId, referenceType)).filter(
      (entry) => !since || entry.recordedAt >= since.toISOString(),
    ),
  }));
  const workflows = await ask(config, { what, referenceId, referenceType, entries, stock });
  const search = options.searchTopic ? await searchFor(config, referenceId, options.since) : undefined;
  const found = stock !== undefined || entries.length > 0 || workflows.list.length > 0;
  if (!found && !search?.hits.some((hit) => hit.became === 'command')) process.exitCode = EXIT.foundSomething;

  if (options.json) {
    printJson({
      ...(stock ? { stock } : {}),
      entries,
      workflows: workflows.list,
      notes: workflows.notes,
      ...(search ?? {}),
    });
    return;
  }
  if (stock) printStock(config, stock);
  if (entries.length > 0) printReference(config, entries);
  printWorkflows(config, workflows, stock !== undefined);
  if (!found)
    print(
      `neither a stock nor a document ${visible(what)} is known${search ? '' : '; --search-topic reads the topics for it'}`,
    );
  if (search) printHits(search);
}

/** Temporal knows what is parked or on its way; the ledger's answer does not depend on it. */
async function ask(
  config: Config,
  about: {
    what: string;
    referenceId: string;
    referenceType: ReferenceType | undefined;
    entries: TracedEntry[];
    stock: StockTrace | undefined;
  },
): Promise<{ list: FoundWorkflow[]; notes: string[] }> {
  const keys = new Set(
    about.entries.map((e) => referenceKey(e.referenceType as ReferenceType, e.referenceId)),
  );
  if (about.referenceType) keys.add(referenceKey(about.referenceType, about.referenceId));
  try {
    return await withTemporal(config, async (temporal) => ({
      list: await workflowsOf(temporal, config.TEMPORAL_TASK_QUEUE, {
        references: [...keys],
        referenceId: about.referenceId,
        ...(about.stock ? { waitingForStock: about.what } : {}),
      }),
      notes: [],
    }));
  } catch (error) {
    return { list: [], notes: [`Temporal was not asked: ${(error as Error).message}`] };
  }
}

async function searchFor(config: Config, referenceId: string, fromMs: number | undefined) {
  const topics = topicSettings(config);
  const progress = new Progress('reading topics');
  const result = await searchTopics({
    kafka: quietKafka(config),
    topics: Object.values(topics.topics),
    decode: createDecoder(topics),
    referenceId,
    span: { fromMs },
    onProgress: (read, of) => progress.show(read, of),
  });
  progress.clear();
  return result;
}

function printStock(config: Config, stock: StockTrace): void {
  const opening =
    stock.opening === undefined ? '' : `, opened at ${stock.opening}, ${stock.sequence} entries`;
  print(`stock ${visible(stock.stockId)}: on hand ${stock.onHand}${opening}`);
  if (stock.entries.length > 0)
    printTable(
      ['#', 'recorded', 'reference', 'delta', 'balance', 'what', 'from', 'workflow'],
      stock.entries.map((entry) => [
        String(entry.sequence),
        entry.recordedAt,
        `${entry.referenceType} ${entry.referenceId}`,
        entry.delta,
        entry.onHandAfter ?? '',
        whatOf(entry),
        from(entry),
        webUi(config, entry.workflowId, entry.runId),
      ]),
      [0, 3, 4],
    );
  if (stock.before !== undefined) print(`earlier: --before ${stock.before}`);
  if (stock.after !== undefined) print(`later: --after ${stock.after}`);
}

function printReference(config: Config, entries: readonly TracedEntry[]): void {
  print(`${entries.length} ledger entries`);
  printTable(
    ['reference', 'attempt', 'recorded', 'stock', 'delta', 'balance', 'what', 'from', 'workflow'],
    entries.map((entry) => [
      `${entry.referenceType} ${entry.referenceId}`,
      String(entry.attempt),
      entry.recordedAt,
      entry.inventoryStockId,
      entry.asked === undefined ? entry.delta : `(${entry.asked})`,
      entry.onHandAfter ?? '',
      whatOf(entry),
      from(entry),
      webUi(config, entry.workflowId, entry.runId),
    ]),
    [1, 4, 5],
  );
}

/** Outcome, and whatever a person had to do with it. */
function whatOf(entry: TracedEntry): string {
  const words = [entry.outcome.toLowerCase()];
  if (entry.case) words.push(entry.case);
  if (entry.belowZero) words.push('below zero');
  if (entry.correctionOf !== undefined) words.push(`corrects attempt ${entry.correctionOf}`);
  if (entry.repairs) words.push(`accounts for what moved before entry ${entry.repairs.sequence}`);
  if (entry.decision) words.push(entry.decision);
  if (entry.actor) words.push(`by ${entry.actor}: ${entry.reason ?? ''}`);
  return words.join(', ');
}

function from({ source }: TracedEntry): string {
  return `${source.topic}[${source.partition}]@${source.offset}`;
}

function printWorkflows(
  config: Config,
  { list, notes }: { list: FoundWorkflow[]; notes: string[] },
  ofStock: boolean,
): void {
  for (const note of notes) print(visible(note));
  if (list.length === 0) return;
  print(ofStock ? 'workflows that name it and are not through' : 'workflows');
  printTable(
    ['workflow', 'status', 'outcome', 'started', 'Web UI'],
    list.map((w) => [
      w.workflowId,
      w.status,
      w.outcome ?? '',
      w.startedAt,
      webUi(config, w.workflowId, w.runId),
    ]),
  );
}

function printHits({ hits, notes }: { hits: Hit[]; notes: string[] }): void {
  for (const note of notes) print(visible(note));
  if (hits.length === 0) print('no topic holds an event of it any more');
  for (const hit of hits) {
    const why = hit.reason === undefined ? '' : `: ${hit.reason}`;
    print(visible(`${hit.topic}[${hit.partition}]@${hit.offset}, ${hit.at}: ${hit.became}${why}`));
  }
}
