/**
 * How the ledger behaves as it grows: `node dist/test/bench/growth.js [entries...]` fills a database of its own
 * on `MONGO_URL` with chains as the worker writes them and measures at each size; with `--archive` it then moves
 * everything to the archive and measures again. Numbers of a machine, to compare.
 */
import { createHash, randomBytes } from 'node:crypto';
import { archive } from '../../activities/archive';
import Big from 'big.js';
import { audit } from '../../activities/audit';
import { toDecimal128 } from '../../activities/decimals';
import { Forecast } from '../../activities/forecast';
import { connectDatabase, Long, type Database, type EffectEntry } from '../../activities/models';
import { entriesOf } from '../../activities/ledger';
import { createPost } from '../../activities/post';
import { setupDatabase } from '../../activities/setup';
import { trackingId, type MoveStock, type ReferenceType } from '../../commands';

const STOCKS = 2_000;
const BATCH = 5_000;
const PROBES = 500;
const policy = { belowZeroRefuse: new Set<ReferenceType>() };
const ONE_OUT = toDecimal128(new Big(-1));
const OPENING = 1_000_000_000;

async function main(sizes: number[], andArchive: boolean): Promise<void> {
  const url = (process.env['MONGO_URL'] ?? '').replace(
    /\/[^/?]+\?/,
    `/growth_${randomBytes(3).toString('hex')}?`,
  );
  const database = await connectDatabase(url);
  await setupDatabase(database);
  try {
    console.log(
      '| entries | bytes/entry (on disk) | indexes bytes/entry | look-up p50 / p99 ms | post one p50 / p99 ms | post 500 ms | forecast/s | audit/s | audit RSS MB |',
    );
    console.log('| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |');
    const row = async (size: number) => console.log(`| ${(await measure(database, size)).join(' | ')} |`);
    await database.stocks.insertMany(
      Array.from({ length: STOCKS }, (_, i) => ({
        _id: `probe-${i}`,
        onHand: toDecimal128(new Big(OPENING)),
      })),
    );
    let filled = 0;
    for (const size of sizes) {
      await fill(database, filled, size);
      filled = size;
      await row(size);
    }
    if (!andArchive) return;
    let entries = 0;
    const ms = await stopwatch(async () => {
      ({ entries } = await archive(database, { before: new Date(Date.now() + 60_000) }));
    });
    const rate = Math.round((entries / ms) * 1_000);
    console.log(`archived ${entries} entries, ${rate}/s; the same again, from the archive:`);
    await row(filled);
  } finally {
    await database.connection.dropDatabase();
    await database.connection.close();
  }
}

const stockOf = (n: number) => `variant-${n % STOCKS}@merchant-1`;

/** Entries `from` to `to - 1`, one per order, stock by stock in turn, with whole chains. */
async function fill(database: Database, from: number, to: number): Promise<void> {
  for (let start = from; start < to; start += BATCH) {
    const entries = Array.from({ length: Math.min(BATCH, to - start) }, (_, i) => entryOf(start + i));
    await database.tracking.insertMany(entries, { ordered: false });
  }
  await database.stocks.bulkWrite(
    Array.from({ length: STOCKS }, (_, n) => {
      const sequence = Math.floor((to - 1 - n) / STOCKS) + 1;
      const $set = { onHand: toDecimal128(new Big(OPENING - sequence)), sequence };
      return { updateOne: { filter: { _id: stockOf(n) }, update: { $set }, upsert: true } };
    }),
  );
}

function entryOf(n: number): EffectEntry {
  const referenceId = `SO-${String(n).padStart(9, '0')}`;
  const inventoryStockId = stockOf(n);
  const sequence = Math.floor(n / STOCKS) + 1;
  const hash = createHash('sha256').update(referenceId).digest('hex');
  return {
    _id: trackingId('SALE_ORDER', referenceId, inventoryStockId),
    referenceType: 'SALE_ORDER',
    referenceId,
    inventoryStockId,
    attempt: 1,
    line: 0,
    delta: ONE_OUT,
    onHandAfter: toDecimal128(new Big(OPENING - sequence)),
    sequence,
    outcome: 'APPLIED',
    belowZero: false,
    occurredAt: new Date(),
    recordedAt: new Date(),
    source: { topic: 'PAYMENT_SUCCESS', partition: n % 12, offset: Long.fromNumber(n) },
    // No two alike, as in life: what is alike costs next to nothing on a disk.
    workflowId: `SALE_ORDER/${referenceId}/${hash.slice(0, 32)}`,
    runId: hash.slice(32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
  };
}

async function measure(database: Database, size: number): Promise<string[]> {
  // What was posted to measure stays in the ledger: where most is archived, the archive is what is looked at.
  const archived = await database.archive.estimatedDocumentCount();
  const collection = archived > size / 2 ? database.archive : database.tracking;
  const [stats] = (await collection
    .aggregate([{ $collStats: { storageStats: {} } }])
    .toArray()) as unknown as {
    storageStats: { size: number; storageSize: number; totalIndexSize: number; count: number };
  }[];
  const { size: bytes, storageSize, totalIndexSize, count } = stats!.storageStats;
  const per = (total: number) => Math.round(total / count);

  const lookups = await timed(PROBES, async () => {
    const reference = entryOf(Math.floor(Math.random() * size));
    if ((await entriesOf(database, [reference])).length !== 1) throw new Error('an entry is lost');
  });
  const post = createPost(database, policy);
  let n = 0;
  // Stocks of their own: the filled chains go on at the next size.
  const next = () =>
    commandOf(`NEW-${size}-${archived}-${n++}`, `probe-${Math.floor(Math.random() * STOCKS)}`);
  const posting = (command: MoveStock) => ({
    command,
    workflowId: command.referenceId,
    runId: command.referenceId,
  });
  const posts = await timed(PROBES, () => post([posting(next())]));
  const groups = await timed(5, () => post(Array.from({ length: 500 }, () => posting(next()))));

  const forecast = new Forecast(database, policy);
  const known = Math.min(size, 50_000);
  const forecastMs = await stopwatch(async () => {
    for (let start = 0; start < known; start += 500) {
      await forecast.next(
        Array.from({ length: 500 }, (_, i) => {
          const { referenceId, inventoryStockId } = entryOf(start + i);
          return { type: 'moveStock' as const, input: commandOf(referenceId, inventoryStockId) };
        }),
      );
    }
  });
  let peak = 0;
  let findings = 0;
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 100);
  const auditMs = await stopwatch(() =>
    audit(database, { onFinding: () => findings++, archived: true }).then(() => undefined),
  );
  clearInterval(watch);
  if (findings > 0) throw new Error(`${findings} findings in a ledger that is whole`);
  return [
    size.toLocaleString('en-US'),
    `${per(bytes)} (${per(storageSize)})`,
    String(per(totalIndexSize)),
    pair(lookups),
    pair(posts),
    groups[Math.floor(groups.length / 2)]!.toFixed(0),
    Math.round((known / forecastMs) * 1_000).toLocaleString('en-US'),
    Math.round((count / auditMs) * 1_000).toLocaleString('en-US'),
    String(Math.round(peak / 1e6)),
  ];
}

function commandOf(referenceId: string, inventoryStockId: string): MoveStock {
  return {
    schema: 1,
    referenceType: 'SALE_ORDER',
    referenceId,
    legs: [{ inventoryStockId, delta: '-1' }],
    occurredAt: new Date().toISOString(),
    source: { topic: 'PAYMENT_SUCCESS', partition: 0, offset: '0' },
  };
}

async function stopwatch(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** Sorted times in milliseconds. */
async function timed(times: number, work: () => Promise<unknown>): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < times; i++) all.push(await stopwatch(work));
  return all.sort((a, b) => a - b);
}

function pair(sorted: number[]): string {
  return [0.5, 0.99].map((q) => sorted[Math.floor(sorted.length * q)]!.toFixed(1)).join(' / ');
}

const given = process.argv.slice(2).filter((word) => word !== '--archive');
void main(
  (given.length > 0 ? given : ['100000', '1000000']).map(Number),
  process.argv.includes('--archive'),
).catch((error: unknown) => {
  console.error(error);
  process.exitCode = 2;
});
