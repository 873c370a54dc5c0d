/** The demo's sums, each number read back from where it is durable. */
import type { Kafka } from 'kafkajs';
import Big from 'big.js';
import { fromDecimal128, readOnHand } from '../activities/decimals';
import { connectDatabase, type Database } from '../activities/models';
import { openAdmin } from '../bridge/kafka';
import { createDecoder } from '../bridge/topics';
import { SEARCH_ATTRIBUTES, workflowIdOf } from '../commands';
import type { Config } from '../config';
import { topicPlan, topicSettings } from '../connections';
import type { Temporal } from '../temporal';
import type { ShiftEvent } from './shift';

const say = (line: string) => process.stdout.write(`${line}\n`);

/** Prints what became of the events, and every stock. @returns whether both add up */
export async function printReport(
  config: Config,
  kafka: Kafka,
  temporal: Temporal,
  events: readonly ShiftEvent[],
): Promise<boolean> {
  const database = await connectDatabase(config.MONGO_URL);
  try {
    const records = await printRecords(config, kafka, temporal, database, events);
    const stocks = await printStocks(database);
    return records && stocks;
  } finally {
    await database.connection.close();
  }
}

async function printRecords(
  config: Config,
  kafka: Kafka,
  temporal: Temporal,
  database: Database,
  events: readonly ShiftEvent[],
): Promise<boolean> {
  const admin = await openAdmin(kafka);
  let received = 0;
  for (const topic of topicPlan(config).topics) {
    for (const offset of (await admin.committed(config.KAFKA_GROUP_ID, topic)).values())
      received += Number(offset);
  }
  let deadLetters = 0;
  for (const { low, high } of await admin.watermarks(config.KAFKA_TOPIC_DEAD_LETTERS))
    deadLetters += Number(high - low);
  await admin.close();

  const { commands, ignored } = decodeAll(config, events);
  const count = async (query: string) =>
    (await temporal.client.workflow.count(`TaskQueue = '${config.TEMPORAL_TASK_QUEUE}' AND ${query}`)).count;
  const workflows = await count(
    `WorkflowType IN ('moveStock', 'ensureDefaultLocation', 'ensureInventoryItem')`,
  );
  const catalogue = await count(`WorkflowType IN ('ensureDefaultLocation', 'ensureInventoryItem')`);
  const conflicts = await count(`${SEARCH_ATTRIBUTES.outcome} = 'CONFLICT'`);
  const references = await database.tracking
    .aggregate([{ $group: { _id: { type: '$referenceType', id: '$referenceId' } } }, { $count: 'n' }])
    .toArray();
  const applied = (references[0]?.['n'] as number | undefined) ?? 0;
  const duplicates = commands.length - workflows;

  const rows: [string, number, string][] = [
    ['applied', applied, 'documents in the ledger'],
    ['catalogue', catalogue, 'merchants and variants ensured'],
    ['duplicates', duplicates, 'deliveries of a workflow that exists: redelivered, or READY after PREPARING'],
    ['conflicts', conflicts, 'same key, other quantity: stock untouched'],
    ['ignored', ignored, 'QUEUED kitchen items ask for nothing'],
    ['dead letters', deadLetters, 'broken messages, kept byte for byte'],
  ];
  const sum = rows.reduce((total, [, n]) => total + n, 0);
  say('\nrecords');
  for (const [name, n, what] of rows) say(`  ${name.padEnd(14)}${String(n).padStart(5)}   ${what}`);
  const ok = sum === received && received === events.length;
  say(
    `  ${'sum'.padEnd(14)}${String(sum).padStart(5)}   of ${received} received, ${events.length} published: ${ok ? 'adds up' : 'DOES NOT ADD UP'}`,
  );
  return ok;
}

/** What the bridge's own rules make of the events. */
function decodeAll(config: Config, events: readonly ShiftEvent[]): { commands: string[]; ignored: number } {
  const settings = topicSettings(config);
  const decode = createDecoder(settings);
  const commands: string[] = [];
  let ignored = 0;
  for (const event of events) {
    const decoded = decode({
      topic: settings.topics[event.topic],
      partition: 0,
      offset: '0',
      timestamp: String(Date.now()),
      key: Buffer.from(event.key),
      value: Buffer.from(event.value),
    });
    if (decoded.became === 'command') commands.push(workflowIdOf(decoded.command));
    else if (decoded.became === 'ignored') ignored++;
  }
  return { commands, ignored };
}

async function printStocks(database: Database): Promise<boolean> {
  let allHold = true;
  const head = ['stock', 'entries', 'opening', 'sum of entries', 'on hand', 'check'];
  const rows: string[][] = [];
  for await (const stock of database.stocks.find().sort({ _id: 1 })) {
    const entries = await database.tracking
      .find({ inventoryStockId: stock._id })
      .sort({ sequence: 1 })
      .toArray();
    const onHand = readOnHand(stock.onHand);
    const sum = entries.reduce((total, entry) => total.plus(fromDecimal128(entry.delta)), new Big(0));
    const first = entries[0];
    const opening = first ? fromDecimal128(first.onHandAfter).minus(fromDecimal128(first.delta)) : onHand;
    const holds = opening.plus(sum).eq(onHand);
    allHold &&= holds;
    rows.push([
      stock._id,
      String(entries.length),
      opening.toFixed(),
      sum.toFixed(),
      onHand.toFixed(),
      holds ? 'ok' : 'WRONG',
    ]);
  }
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)));
  say('');
  for (const row of [head, ...rows]) {
    say(
      `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ')}`,
    );
  }
  return allHold;
}
