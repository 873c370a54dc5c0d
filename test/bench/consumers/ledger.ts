/** The ledger as the hand-written contenders keep it: the same collections, keys, balances and chain as ours. */
import { mongo } from 'mongoose';
import { keyOf, type Movement } from './movement';

const { Decimal128, Long, MongoClient } = mongo;
type Decimal128 = InstanceType<typeof Decimal128>;

export interface Stock {
  _id: string;
  onHand: Decimal128;
  sequence: number;
}

export interface Entry {
  _id: string;
  referenceId: string;
  inventoryStockId: string;
  delta: Decimal128;
  onHandAfter: Decimal128;
  sequence: number;
  [more: string]: unknown;
}

export type Client = InstanceType<typeof MongoClient>;
export type Session = ReturnType<Client['startSession']>;

export interface Ledger {
  client: Client;
  tracking: ReturnType<typeof collection<Entry>>;
  stocks: ReturnType<typeof collection<Stock>>;
}

const DUPLICATE_KEY = 11_000;

function collection<T extends { _id: string }>(client: Client, name: string) {
  return client.db().collection<T>(name);
}

/** Enough connections for every transaction in flight. */
export async function openLedger(url: string): Promise<Ledger> {
  const client = await new MongoClient(url, { maxPoolSize: 50 }).connect();
  return {
    client,
    tracking: collection<Entry>(client, 'inventory_tracking'),
    stocks: collection<Stock>(client, 'inventory_stock'),
  };
}

/** The row of one leg. */
export function entryOf(
  movement: Movement,
  line: number,
  after: { onHand: Decimal128; sequence: number },
): Entry {
  const leg = movement.legs[line]!;
  const { referenceType, referenceId, occurredAt, source } = movement;
  return {
    _id: keyOf(movement, leg.stockId),
    referenceType,
    referenceId,
    inventoryStockId: leg.stockId,
    attempt: 1,
    line,
    delta: Decimal128.fromString(leg.delta),
    onHandAfter: after.onHand,
    sequence: after.sequence,
    outcome: 'APPLIED',
    belowZero: after.onHand.toString().startsWith('-'),
    occurredAt,
    recordedAt: new Date(),
    source: { ...source, offset: Long.fromString(source.offset) },
  };
}

/**
 * One transaction, tried again after a write conflict; with the same promises as ours: a snapshot, and a commit
 * that a majority has in its journal.
 * @returns false when a key was there already, with nothing written
 */
export async function inTransaction(
  ledger: Ledger,
  body: (session: Session) => Promise<void>,
): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    const session = ledger.client.startSession();
    try {
      session.startTransaction({
        readConcern: { level: 'snapshot' },
        writeConcern: { w: 'majority', journal: true },
      });
      await body(session);
      await session.commitTransaction();
      return true;
    } catch (error) {
      const { code } = error as { code?: unknown };
      await session.abortTransaction().catch(() => undefined);
      if (code === DUPLICATE_KEY) return false;
      const again = error instanceof mongo.MongoError && error.hasErrorLabel('TransientTransactionError');
      if (!again || tries > 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(5 * 2 ** tries, 100)));
    } finally {
      await session.endSession();
    }
  }
}

/** One event, one transaction: each leg's stock moved and read back, then all entries inserted. */
export function post(ledger: Ledger, movement: Movement): Promise<boolean> {
  return inTransaction(ledger, async (session) => {
    const entries: Entry[] = [];
    for (const [line, leg] of movement.legs.entries()) {
      const after = await ledger.stocks.findOneAndUpdate(
        { _id: leg.stockId },
        { $inc: { onHand: Decimal128.fromString(leg.delta), sequence: 1 } },
        { session, returnDocument: 'after' },
      );
      if (!after) throw new Error(`no stock ${leg.stockId}`);
      entries.push(entryOf(movement, line, after));
    }
    await ledger.tracking.insertMany(entries, { session });
  });
}
