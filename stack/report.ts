/** The demo's sums, each number read back from where it is durable. */
import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { Kafka } from 'kafkajs';
import Big from 'big.js';
import { fromDecimal128, readOnHand } from '../activities/decimals';
import { connectDatabase, IN_CHAIN, type Database, type EffectEntry } from '../activities/models';
import { openAdmin } from '../bridge/kafka';
import { printTable } from '../cli/context';
import { SEARCH_ATTRIBUTES } from '../commands';
import type { Config } from '../config';
import { topicPlan } from '../connections';
import { decodeAll } from './settled';
import type { ShiftEvent } from './shift';

const say = (line: string) => process.stdout.write(`${line}\n`);

/** Prints what became of the events, and every stock. @returns whether both add up */
export async function printReport(
  config: Config,
  kafka: Kafka,
  workflows: readonly WorkflowExecutionDescription[],
  events: readonly ShiftEvent[],
): Promise<boolean> {
  const database = await connectDatabase(config.MONGO_URL);
  try {
    const records = await printRecords(config, kafka, workflows, database, events);
    const stocks = await printStocks(database);
    return records && stocks;
  } finally {
    await database.connection.close();
  }
}

async function printRecords(
  config: Config,
  kafka: Kafka,
  workflows: readonly WorkflowExecutionDescription[],
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
  const catalogue = (await database.locations.countDocuments()) + (await database.stocks.countDocuments());
  // Whatever ended was answered; what still stands there waits for a person.
  const parked = workflows.filter(({ status }) => status.name === 'RUNNING');
  const references = await database.tracking
    .aggregate([
      { $match: IN_CHAIN },
      { $group: { _id: { type: '$referenceType', id: '$referenceId' } } },
      { $count: 'n' },
    ])
    .toArray();
  const applied = (references[0]?.['n'] as number | undefined) ?? 0;
  const duplicates = commands.length - new Set(commands).size;

  const rows: [string, number, string][] = [
    ['applied', applied, 'documents in the ledger'],
    ['catalogue', catalogue, 'merchants and variants ensured'],
    [
      'duplicates',
      duplicates,
      'deliveries of a command that was there before: redelivered, or READY after PREPARING',
    ],
    ['parked', parked.length, 'an order edited after payment: stock untouched, a person decides'],
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
  for (const { searchAttributes } of parked) {
    const reference = String(searchAttributes[SEARCH_ATTRIBUTES.reference]?.[0]);
    say(
      `\n  decide with: node dist/cli.js parked resolve ${reference} --decision correct --actor you --reason …`,
    );
  }
  return ok;
}

async function printStocks(database: Database): Promise<boolean> {
  let allHold = true;
  const head = ['stock', 'entries', 'opening', 'sum of entries', 'on hand', 'check'];
  const rows: string[][] = [];
  for await (const stock of database.stocks.find().sort({ _id: 1 })) {
    const entries = await database.tracking
      .find<EffectEntry>({ inventoryStockId: stock._id, ...IN_CHAIN })
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
  say('');
  printTable(head, rows, [1, 2, 3, 4]);
  return allHold;
}
