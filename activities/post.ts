/**
 * The one way stock changes. Commands that arrive while a transaction runs wait in a lane and go into the next one
 * together: inside one process transactions never fight each other for a stock, and the busier it is, the more
 * commands one transaction carries.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { MoveStockResult } from '../commands';
import { TIME_LIMITS_MS } from '../commands';
import { crashPoint } from '../crashPoint';
import { metrics } from '../metrics';
import { toDecimal128 } from './decimals';
import { judge, stocksOf, type Judgement, type Policy, type Posting } from './judge';
import { IN_CHAIN, type Database, type EffectEntry, type InventoryStock } from './models';
import { entriesOf } from './ledger';
import { inTransaction, TransactionUnavailableError, WriteConflictError, type Session } from './transaction';

/** What became of one posting: its result, what is broken about its stock, or that it is held up. */
export type Posted = PromiseSettledResult<MoveStockResult>;

/**
 * Posts commands; one answer per posting, in order. A posting is rejected by itself when its stock is broken, or when
 * somebody else holds what it writes.
 * @throws TransactionUnavailableError for all of them, when MongoDB could not do it for now
 */
export type Post = (postings: readonly Posting[], cancelled?: AbortSignal) => Promise<Posted[]>;

/** Is told of each transaction once it is durable. */
export type OnPosted = (judgement: Judgement, postings: readonly Posting[]) => void;

/**
 * A full group. Measured with groups of 1,000: half as many took 14 % away, twice as many brought 6 %; with groups of
 * 2,000, 4,000 and 8,000 were no faster. More would hold documents longer that other processes wait for.
 */
const MAX_COMMANDS_PER_TRANSACTION = 2_000;
/**
 * Write conflicts in a row after which a transaction is given up, so that what a killed worker left open, for up to
 * a minute, holds up its own commands only: with the growing waits between them about a third of a second for many
 * commands, which are then halved down to the one; and a second for one command while others wait behind it, which
 * Temporal then tries again.
 */
const ENOUGH_CONFLICTS = { many: 6, one: 9 };
const DUPLICATE_KEY = 11_000;

interface Job {
  postings: readonly Posting[];
  cancelled: AbortSignal | undefined;
  /** Runs something as if whoever asked had called it, so that a trace shows it there. */
  inContext: ReturnType<typeof AsyncLocalStorage.snapshot>;
  resolve: (posted: Posted[]) => void;
  reject: (error: unknown) => void;
}

/** The ledger says that a document was changed by hand: no retry helps until a person looks. */
export class BrokenLedgerError extends Error {
  override readonly name = 'BrokenLedgerError';
}

/** Makes the posting function of one process. */
export function createPost(database: Database, policy: Policy, onPosted: OnPosted = () => undefined): Post {
  const queue: Job[] = [];
  let running = false;

  async function run(): Promise<void> {
    running = true;
    while (queue.length > 0) {
      const jobs = takeJobs(queue);
      const commands = jobs.reduce((sum, job) => sum + job.postings.length, 0);
      // All share one transaction, which can stand in one trace only.
      await jobs[0]?.inContext(() =>
        postJobs(jobs, (postings) => {
          const isEnough = (conflicts: number) =>
            postings.length > 1
              ? conflicts >= ENOUGH_CONFLICTS.many
              : conflicts >= ENOUGH_CONFLICTS.one && (commands > 1 || queue.length > 0);
          return postTogether(database, policy, onPosted, postings, isEnough);
        }),
      );
    }
    running = false;
  }

  return (postings, cancelled) =>
    new Promise((resolve, reject) => {
      queue.push({ postings, cancelled, inContext: AsyncLocalStorage.snapshot(), resolve, reject });
      if (!running) void run();
    });
}

function takeJobs(queue: Job[]): Job[] {
  const jobs: Job[] = [];
  let commands = 0;
  while (queue.length > 0) {
    const job = queue[0]!;
    if (jobs.length > 0 && commands + job.postings.length > MAX_COMMANDS_PER_TRANSACTION) break;
    queue.shift();
    // Nobody waits for it any more, and whoever asked will ask again.
    if (job.cancelled?.aborted)
      job.reject(new TransactionUnavailableError('cancelled before its transaction began'));
    else {
      jobs.push(job);
      commands += job.postings.length;
    }
  }
  return jobs;
}

/** Never rejects: each job is answered. */
async function postJobs(
  jobs: readonly Job[],
  post: (postings: Posting[]) => Promise<MoveStockResult[]>,
): Promise<void> {
  try {
    const posted = await postHalving(
      jobs.flatMap((job) => job.postings),
      post,
    );
    let from = 0;
    for (const job of jobs) job.resolve(posted.slice(from, (from += job.postings.length)));
  } catch (error) {
    for (const job of jobs) job.reject(error);
  }
}

/** One transaction for all; where that fails through one of them, each half on its own, down to the culprit. */
async function postHalving(
  postings: Posting[],
  post: (postings: Posting[]) => Promise<MoveStockResult[]>,
): Promise<Posted[]> {
  if (postings.length === 0) return [];
  try {
    return (await post(postings)).map((value) => ({ status: 'fulfilled', value }));
  } catch (reason) {
    const isHeldUp = reason instanceof WriteConflictError;
    if (reason instanceof TransactionUnavailableError && !isHeldUp) throw reason;
    if (postings.length === 1) return [{ status: 'rejected', reason }];
    const half = postings.length >> 1;
    return [
      ...(await postHalving(postings.slice(0, half), post)),
      ...(await postHalving(postings.slice(half), post)),
    ];
  }
}

async function postTogether(
  database: Database,
  policy: Policy,
  onPosted: OnPosted,
  postings: readonly Posting[],
  isEnough: (conflicts: number) => boolean,
): Promise<MoveStockResult[]> {
  const endTimer = metrics.transactionSeconds.startTimer();
  metrics.transactionCommands.observe(postings.length);
  const attempt = () =>
    inTransaction(
      database.connection,
      TIME_LIMITS_MS.transaction,
      (session) => postInSession(database, policy, postings, session),
      isEnough,
    );
  try {
    const judgement = await attempt().catch((error: unknown) => {
      // The transaction is over; what stands in the ledger now is read by a fresh one.
      if (isDuplicateKey(error)) return attempt();
      throw error;
    });
    crashPoint('after-commit');
    count(postings, judgement);
    onPosted(judgement, postings);
    return judgement.results;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    throw new BrokenLedgerError(
      `the ledger already holds ${JSON.stringify((error as { keyValue?: unknown }).keyValue)}, which the stock's ` +
        'sequence says is free; the stock document was changed by hand; restore its sequence to the highest in ' +
        'inventory_tracking',
      { cause: error },
    );
  } finally {
    endTimer();
  }
}

async function postInSession(
  database: Database,
  policy: Policy,
  postings: readonly Posting[],
  session: Session,
): Promise<Judgement> {
  const entries = await entriesOf(
    database,
    postings.map(({ command }) => command),
    { session },
  );
  const stockIds = [...new Set(postings.flatMap((posting) => stocksOf(posting, entries)))];
  const stocks = await readStocks(database, stockIds, session);
  const judgement = judge(postings, { entries, stocks }, policy, new Date());
  if (judgement.entries.length === 0) return judgement;

  const inserted = await database.tracking.insertMany(judgement.entries, { session, ordered: true });
  crashPoint('in-transaction');
  // Stock-ID order in every process, so that two transactions meet at the first stock they share, not crosswise.
  const updates = [...judgement.stocks].sort(([a], [b]) => (a < b ? -1 : 1));
  // Entries that only take their keys touch no stock, and the driver refuses an empty list.
  const matched =
    updates.length === 0
      ? 0
      : (
          await database.stocks.bulkWrite(
            updates.map(([_id, { inc, sequence }]) => ({
              updateOne: {
                filter: { _id },
                update: { $inc: { onHand: toDecimal128(inc) }, $set: { sequence } },
              },
            })),
            { session, ordered: true },
          )
        ).matchedCount;
  if (inserted.insertedCount !== judgement.entries.length || matched !== updates.length) {
    throw new Error(
      `wrote ${inserted.insertedCount} of ${judgement.entries.length} entries and ${matched} of ${updates.length} stocks`,
    );
  }
  return judgement;
}

/** Stocks with their sequence; one that came from elsewhere without a sequence goes on after its last entry. */
async function readStocks(
  database: Database,
  stockIds: string[],
  session: Session,
): Promise<(InventoryStock & { sequence: number })[]> {
  const found = await database.stocks
    .find(
      { _id: { $in: stockIds } },
      { session, projection: { onHand: 1, sequence: 1 }, promoteLongs: false },
    )
    .toArray();
  const stocks: (InventoryStock & { sequence: number })[] = [];
  for (const stock of found) {
    stocks.push({
      ...stock,
      sequence:
        stock.sequence === undefined
          ? await lastSequence(database, stock._id, session)
          : Number(stock.sequence),
    });
  }
  return stocks;
}

async function lastSequence(database: Database, stockId: string, session: Session): Promise<number> {
  const last = await database.tracking.findOne(
    { inventoryStockId: stockId, ...IN_CHAIN },
    { session, sort: { sequence: -1 }, projection: { sequence: 1 } },
  );
  const opening = await database.openings.findOne({ _id: stockId }, { session, projection: { last: 1 } });
  return Math.max((last as Pick<EffectEntry, 'sequence'> | null)?.sequence ?? 0, opening?.last ?? 0);
}

function isDuplicateKey(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === DUPLICATE_KEY;
}

function count(postings: readonly Posting[], judgement: Judgement): void {
  judgement.results.forEach((result, index) => {
    metrics.outcomes.inc({ reference_type: postings[index]!.command.referenceType, outcome: result.outcome });
  });
  for (const entry of judgement.entries) {
    const { referenceType: reference_type, outcome, line, decision, occurredAt, recordedAt } = entry;
    if (entry.belowZero) metrics.belowZero.inc({ reference_type });
    // Once for a document, and not where somebody took days to decide.
    if (outcome !== 'APPLIED' || line !== 0 || decision !== undefined) continue;
    const seconds = Math.max(0, recordedAt.getTime() - occurredAt.getTime()) / 1_000;
    metrics.ledgerSeconds.observe({ reference_type }, seconds);
  }
}
