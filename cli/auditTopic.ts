/** `audit --topic`: what the topic holds is in the ledger, or there is a stated reason why not; and the other way. */
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { auditSources, SpanIndex } from '../activities/auditTopic';
import type { Finding } from '../activities/auditFinding';
import { Forecast } from '../activities/forecast';
import type { Database } from '../activities/models';
import { readLetters } from '../bridge/deadLetterRead';
import { openAdmin } from '../bridge/kafka';
import { readSpans } from '../bridge/replayRead';
import { resolveSpans, spanSize, type Wish } from '../bridge/replaySpans';
import { sleep } from '../bridge/waiting';
import { createDecoder } from '../bridge/topics';
import { referenceKey, workflowIdOf } from '../commands';
import type { Config } from '../config';
import { topicSettings } from '../connections';
import { quoted } from '../visibility';
import { quietKafka, withTemporal } from './context';
import { add, type Counts } from './replayCounts';
import { judgeRecords, type Judged } from './replayForecast';

export interface TopicAudit {
  records: number;
  /** Records by what they are; `under-way` ones are not in the ledger yet, and a workflow or the bridge has them. */
  counts: Counts & { 'under-way'?: number };
  /** Ledger entries that name a record of the span. */
  entries: number;
  notes: string[];
}

interface Settings {
  config: Config;
  database: Database;
  topic: string;
  wish: Wish;
  onFinding(finding: Finding): void;
  onProgress(records: number, of: number): void;
}

/** In the ledger, or with a reason that stands there. */
const STATED = new Set<Judged['verdict']>([
  'already-applied',
  'already-there',
  'parked',
  'refused-earlier',
  'ignored',
]);
/** What an event needs from the bridge's commit to its entry, usually. */
const SETTLE_MS = 3_000;
const MAX_SUSPECTS = 10_000;

export async function auditTopic(settings: Settings): Promise<TopicAudit> {
  const { config, database, topic } = settings;
  const kafka = quietKafka(config);
  const decode = createDecoder(topicSettings(config));
  const admin = await openAdmin(kafka);
  // Before the records are read: what the bridge has not passed by now is not missing but not yet its turn.
  const { spans, notes, passed } = await (async () => ({
    ...(await resolveSpans(admin, topic, settings.wish)),
    passed: await admin.committed(config.KAFKA_GROUP_ID, topic),
  }))().finally(() => admin.close());
  const index = new SpanIndex(spans);
  const counts: TopicAudit['counts'] = {};
  const suspects: Judged[] = [];
  const judge = (records: Judged['record'][]) =>
    judgeRecords(records, {
      decode,
      forecast: new Forecast(database, { belowZeroRefuse: config.BELOW_ZERO_REFUSE }),
    });
  let records = 0;
  const read = await readSpans({
    kafka,
    topic,
    spans,
    onRecords: async (batch) => {
      for (const judged of await judge(batch)) {
        const { record, command, verdict } = judged;
        if (command && 'referenceId' in command.input) {
          const { referenceType, referenceId } = command.input;
          index.note(record.partition, record.offset, referenceKey(referenceType, referenceId));
        }
        if (STATED.has(verdict)) add(counts, verdict);
        else if (BigInt(record.offset) >= (passed.get(record.partition) ?? 0n)) addUnderWay(counts);
        else if (suspects.length < MAX_SUSPECTS) suspects.push(judged);
        else settings.onFinding(missing(judged));
      }
      settings.onProgress((records += batch.length), spanSize(spans));
    },
  });
  await settleSuspects(settings, suspects, judge, counts);
  const entries = await auditSources(database, topic, index, (finding) => settings.onFinding(finding));
  return { records, counts, entries, notes: [...notes, ...read.notes] };
}

/**
 * Looks again, twice, at what was not there: an event may have been on its way while we read, and a group that was
 * just started is not in Temporal's lists yet. At last Temporal is asked before the ledger, and not after it: a
 * workflow that has ended by then has left its entry there.
 */
async function settleSuspects(
  settings: Settings,
  suspects: Judged[],
  judge: (records: Judged['record'][]) => Promise<Judged[]>,
  counts: TopicAudit['counts'],
): Promise<void> {
  if (suspects.length === 0) return;
  const { config, topic } = settings;
  const letters = suspects.some(({ verdict }) => verdict === 'undecodable')
    ? await lettersOf(config, topic)
    : new Set<string>();
  const unstated = async (judged: Judged[]): Promise<Judged[]> =>
    (await judge(judged.map(({ record }) => record))).filter(({ record, verdict }) => {
      const stated =
        STATED.has(verdict) ||
        (verdict === 'undecodable' && letters.has(`${record.partition}:${record.offset}`));
      if (stated) add(counts, verdict);
      return !stated;
    });
  await sleep(SETTLE_MS);
  const missed = await unstated(suspects);
  if (missed.length === 0) return;
  await sleep(SETTLE_MS);
  await withTemporal(config, async ({ client }) => {
    const groups = await runningGroups(client, config.TEMPORAL_TASK_QUEUE);
    const status = await statusOf(client, missed);
    for (const judged of await unstated(missed)) {
      const its = judged.command && status.get(workflowIdOf(judged.command));
      if (judged.command && (groups > 0 || its === 'RUNNING')) addUnderWay(counts);
      else settings.onFinding(missing(judged, its));
    }
  });
}

/** A group's members have no workflow of their own while it runs. */
async function runningGroups(client: Client, taskQueue: string): Promise<number> {
  const running = `WorkflowType IN ('moveStockBatch', 'ensureCatalogueBatch') AND ExecutionStatus = 'Running'`;
  const { count } = await client.workflow.count(`${running} AND TaskQueue = ${quoted(taskQueue)}`);
  return count;
}

/** How the workflow of each command stands, by its ID; of one that has none, undefined. */
async function statusOf(client: Client, judged: readonly Judged[]): Promise<Map<string, string | undefined>> {
  const statuses = new Map<string, string | undefined>();
  for (const { command } of judged) {
    if (!command) continue;
    const id = workflowIdOf(command);
    const description = await client.workflow.getHandle(id).describe().catch(onlyMissing);
    statuses.set(id, description?.status.name);
  }
  return statuses;
}

function onlyMissing(error: unknown): undefined {
  if (!(error instanceof WorkflowNotFoundError)) throw error;
}

/** `partition:offset` of the topic's records that have a dead letter. */
async function lettersOf(config: Config, topic: string): Promise<Set<string>> {
  const places = new Set<string>();
  await readLetters(quietKafka(config), config.KAFKA_TOPIC_DEAD_LETTERS, {}, (letters) => {
    for (const { record } of letters) {
      if (record.topic === topic) places.add(`${record.partition}:${record.offset}`);
    }
    return Promise.resolve();
  });
  return places;
}

function addUnderWay(counts: TopicAudit['counts']): void {
  counts['under-way'] = (counts['under-way'] ?? 0) + 1;
}

function missing({ record, command, verdict, detail }: Judged, status?: string): Finding {
  const key = `${record.topic}[${record.partition}]@${record.offset}`;
  const input = command?.input;
  const what =
    input && 'referenceId' in input ? `${input.referenceType} ${input.referenceId}` : (command?.type ?? '');
  const workflow = status === undefined ? 'no workflow' : `its workflow is ${status}`;
  const text =
    verdict === 'undecodable'
      ? `is at fault and has no dead letter: ${detail ?? ''}`
      : `${what} is neither in the ledger nor parked (${verdict}), ${workflow}; replay applies it`;
  return { check: 'topic', problem: 'not-in-ledger', key, text };
}
