/** One MongoDB transaction with a bounded number of tries inside a bounded time. */
import { setTimeout as sleep } from 'node:timers/promises';
import mongoose, { type Connection } from 'mongoose';
import { metrics } from '../metrics';
import { withoutCommand } from './mongoFault';

export type Session = mongoose.mongo.ClientSession;

/**
 * Between two tries at most. Fifty processes that want one stock, with a quarter of this, spent their time on tries
 * that could not win, and some waited for most of a minute.
 */
const LONGEST_WAIT_MS = 1_000;

/**
 * The transaction's fate is unknown or it did not happen for a reason outside the command (server away, write
 * conflict to the end). Trying again helps, and starts by reading the ledger.
 */
export class TransactionUnavailableError extends Error {
  override readonly name: string = 'TransactionUnavailableError';
}

/**
 * Somebody else holds what this transaction writes, try after try. That may be over soon, or be the open transaction
 * of a worker that was killed, which MongoDB keeps until its `transactionLifetimeLimitSeconds` have passed.
 */
export class WriteConflictError extends TransactionUnavailableError {
  override readonly name = 'WriteConflictError';
}

/** When a transaction last failed for a reason outside its commands, with none completed since. */
let trouble: { at: number; message: string } | undefined;

/** A posting that failed is tried again within 30 s: older trouble than this was no posting's any more. */
const TROUBLE_LASTS_MS = 90_000;

/** Why transactions of this process come to nothing at the moment; undefined when they do not. */
export function transactionTrouble(): string | undefined {
  if (trouble === undefined || Date.now() - trouble.at > TROUBLE_LASTS_MS) return undefined;
  return `transactions fail, last ${Math.round((Date.now() - trouble.at) / 1_000)} s ago: ${trouble.message}`;
}

/**
 * Runs `body` in a transaction: reads see one snapshot, writes are on a majority of journals before this returns.
 * A write conflict runs `body` again after a short random wait. We do not use the driver's `withTransaction`: it
 * retries for 120 s, longer than any activity may take, and the driver's own time-out option has no effect.
 *
 * @param body must pass the session to every operation and run them one after the other; it may run several times
 * @param capMs no try outlives this; afterwards the caller is told that the result is unknown
 * @param isEnough asked after each write conflict, with how many there were: the caller may have a better idea
 * @throws WriteConflictError when that was enough of them
 * @throws TransactionUnavailableError see there; other errors come from `body` unchanged, with nothing written
 */
export async function inTransaction<T>(
  connection: Connection,
  capMs: number,
  body: (session: Session) => Promise<T>,
  isEnough: (conflicts: number) => boolean = () => false,
): Promise<T> {
  const deadline = Date.now() + capMs;
  for (let tries = 1; ; tries++) {
    const session = await connection.startSession();
    try {
      const result = await within(deadline, oneTry(session, body));
      metrics.transactions.inc({ result: 'committed' });
      trouble = undefined;
      return result;
    } catch (error) {
      const waitMs = Math.random() * Math.min(5 * 2 ** tries, LONGEST_WAIT_MS);
      if (isWriteConflict(error) && Date.now() + waitMs < deadline) {
        metrics.transactions.inc({ result: 'conflict' });
        if (isEnough(tries)) {
          throw new WriteConflictError(`${tries} write conflicts in a row: ${messageOf(error)}`, {
            cause: error,
          });
        }
        await sleep(waitMs);
        continue;
      }
      if (!isUnavailable(error)) {
        metrics.transactions.inc({ result: 'failed' });
        throw withoutCommand(error);
      }
      metrics.transactions.inc({
        result: hasLabel(error, 'UnknownTransactionCommitResult') ? 'unknown-commit' : 'unavailable',
      });
      // A stock that somebody else holds keeps its own commands waiting, not this worker.
      if (!isWriteConflict(error)) trouble = { at: Date.now(), message: messageOf(error) };
      throw new TransactionUnavailableError(`MongoDB did not complete the transaction: ${messageOf(error)}`, {
        cause: error,
      });
    } finally {
      // Aborts what is still open; not awaited, because a server that is away would hold us here.
      session.endSession().catch(() => undefined);
    }
  }
}

async function oneTry<T>(session: Session, body: (session: Session) => Promise<T>): Promise<T> {
  session.startTransaction({
    readConcern: { level: 'snapshot' },
    // Majority and journal: a posting that was answered survives any single server.
    writeConcern: { w: 'majority', journal: true },
    readPreference: 'primary',
  });
  const result = await body(session);
  // A transaction without writes is committed too: its answer must rest on data that cannot be rolled back.
  await session.commitTransaction();
  return result;
}

async function within<T>(deadline: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new TransactionUnavailableError('no answer within the transaction time cap')),
      Math.max(deadline - Date.now(), 0),
    );
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}

function isWriteConflict(error: unknown): boolean {
  // A commit whose result is unknown carries the label too when the connection broke: that one is not tried again
  // blindly but answered from the ledger.
  return (
    hasLabel(error, 'TransientTransactionError') &&
    !hasLabel(error, 'UnknownTransactionCommitResult') &&
    !isNetwork(error)
  );
}

function isUnavailable(error: unknown): boolean {
  return (
    error instanceof TransactionUnavailableError ||
    isNetwork(error) ||
    hasLabel(error, 'TransientTransactionError') ||
    hasLabel(error, 'UnknownTransactionCommitResult') ||
    hasLabel(error, 'RetryableWriteError')
  );
}

function isNetwork(error: unknown): boolean {
  const { MongoNetworkError, MongoServerSelectionError, MongoNotConnectedError } = mongoose.mongo;
  return [MongoNetworkError, MongoServerSelectionError, MongoNotConnectedError].some(
    (kind) => error instanceof kind,
  );
}

function hasLabel(error: unknown, label: string): boolean {
  return error instanceof mongoose.mongo.MongoError && error.hasErrorLabel(label);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
