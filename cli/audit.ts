import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { audit, type AuditCounts } from '../activities/audit';
import { openCheckpoint } from '../activities/auditCheckpoint';
import { repairId, type Finding } from '../activities/auditFinding';
import { auditTopic, type TopicAudit } from './auditTopic';
import { EXIT, print, printJson, settings, UsageError, visible, withDatabase } from './context';
import type { Plan } from './plan';
import { count, paint, Progress } from './progress';
import { spanOptions, topicOf, wishOf, type SpanOptions } from './span';

interface Options extends SpanOptions {
  topic?: string;
  json?: boolean;
  plan?: string;
  since?: string;
  archived?: boolean;
}

/** Findings that `--json` lists and a plan takes up; more are counted. */
const MAX_KEPT = 100_000;

/** `inventory audit`: proves that topic, ledger and stock agree, or names what does not. */
export function registerAudit(program: Command): void {
  spanOptions(program.command('audit'))
    .description(
      'prove from the ledger that every stock is explained; reads only, while events flow\n' +
        'exit code 0: all is explained, 1: something was found, 2: could not run',
    )
    .option('--since <file>', 'check only what changed since the audit that left this file; renews it')
    .option('--plan <file>', 'write the repair entries that `inventory adjust --plan` can post')
    .option('--topic <name>', 'also check that this topic (or the span of it) and the ledger agree')
    .option('--archived', 'read every archived entry again, instead of beginning at the openings')
    .option('--json', 'print counts and findings as JSON')
    .action(run);
}

async function run(options: Options): Promise<void> {
  const config = settings();
  const findings: Finding[] = [];
  const progress = new Progress('audit');
  const onFinding = (finding: Finding) => {
    if (findings.length < MAX_KEPT) findings.push(finding);
    progress.clear();
    if (!options.json) printFinding(finding);
  };
  const ofTopic = options.topic === undefined ? undefined : topicOf(config, options.topic);
  const wish = wishOf(options);
  if (options.archived && options.since !== undefined)
    throw new UsageError('--since reads only what changed, --archived reads everything');
  if (ofTopic === undefined && Object.values(wish).some((value) => value !== undefined)) {
    throw new UsageError('--from, --to, --partition and --offsets are spans of a --topic');
  }
  let topic: TopicAudit | undefined;
  const counts = await withDatabase(config, async (database) => {
    const entries =
      (await database.tracking.estimatedDocumentCount()) +
      (options.archived ? await database.archive.estimatedDocumentCount() : 0);
    const checkpoint = options.since === undefined ? undefined : await openCheckpoint(options.since);
    const counted = await audit(database, {
      ...(checkpoint ? { checkpoint } : {}),
      archived: options.archived === true,
      onProgress: (so) => progress.show(so.entries, checkpoint?.isFirst === false ? 0 : entries),
      onFinding,
    });
    if (ofTopic !== undefined) {
      topic = await auditTopic({
        config,
        database,
        topic: ofTopic,
        wish,
        onFinding: (finding) => {
          counted.findings++;
          onFinding(finding);
        },
        onProgress: (records, of) => progress.show(records, of),
      });
    }
    return counted;
  });
  progress.clear();
  if (options.plan !== undefined) writePlan(options.plan, findings);
  if (options.json) printJson({ ...counts, ...(topic ? { topic } : {}), list: findings });
  else printCounts(counts, topic);
  if (counts.findings > 0) process.exitCode = EXIT.foundSomething;
}

function printFinding({ check, problem, key, stockId, text, repair }: Finding): void {
  const stock = stockId === undefined || stockId === key ? '' : ` (stock ${visible(stockId)})`;
  const remedy = repair ? ', --plan repairs it' : '';
  print(`${paint(`${check} ${problem}`, 'red')}: ${visible(key)}${stock}: ${visible(text)}${remedy}`);
}

function printCounts(
  { stocks, unchanged, behindOpenings, entries, transfers, findings }: AuditCounts,
  topic: TopicAudit | undefined,
): void {
  if (topic) {
    topic.notes.forEach((note) => print(visible(note)));
    const parts = Object.entries(topic.counts).map(([what, number]) => `${count(number)} ${what}`);
    print(
      `${count(topic.records)} records of the topic: ${parts.join(', ')}; ${count(topic.entries)} entries name them`,
    );
  }
  const since = unchanged > 0 ? ` (${count(unchanged)} unchanged since the checkpoint)` : '';
  print(`${count(stocks)} stocks${since}, ${count(entries)} entries, ${count(transfers)} transfers checked`);
  if (behindOpenings > 0)
    print(`${count(behindOpenings)} archived entries lie behind openings: --archived reads them`);
  print(
    findings === 0 ? paint('everything is explained', 'green') : paint(`${count(findings)} findings`, 'red'),
  );
}

function writePlan(file: string, findings: readonly Finding[]): void {
  const items = findings.flatMap(({ key, text, repair }) =>
    repair ? [{ id: repairId(repair), ...repair, reason: `audit, ${key}: ${text}` }] : [],
  );
  const plan: Plan = { inventoryPlan: 1, items };
  writeFileSync(file, `${JSON.stringify(plan, null, 2)}\n`);
  const without = findings.length - items.length;
  process.stderr.write(
    `${items.length} repairs written to ${file}${without > 0 ? `; ${without} findings need a person` : ''}\n`,
  );
}
