/** A database of its own for each test file, on the real replica set that the test run has started. */
import { randomUUID } from 'node:crypto';
import Big from 'big.js';
import { fromDecimal128, readOnHand, toDecimal128 } from '../activities/decimals';
import {
  connectDatabase,
  IN_CHAIN,
  type Database,
  type EffectEntry,
  type TrackingEntry,
} from '../activities/models';
import { setupDatabase } from '../activities/setup';

export interface TestDatabase extends Database {
  /** Adds a stock as another system would: only `_id` and `onHand`. */
  stock(id: string, onHand: string): Promise<void>;
  onHand(id: string): Promise<string>;
  /** Every entry of a document, in the order in which they were written. */
  entriesOf(referenceId: string): Promise<TrackingEntry[]>;
  /** `[sequence, delta, onHandAfter]` of each entry of the stock, in order. */
  chain(id: string): Promise<[number, string, string][]>;
  /** Fails unless every stock equals its opening plus its entries, with an unbroken chain. */
  expectChainsHold(openings: Record<string, string>): Promise<void>;
  drop(): Promise<void>;
}

/** A MongoDB URL with a database of its own. */
export function databaseUrl(): string {
  const url = process.env['MONGO_URL'];
  if (!url) throw new Error('MONGO_URL is not set: run the tests with `npm test`, which starts the servers');
  return url.replace(/\/[^/?]+\?/, `/test_${randomUUID().slice(0, 8)}?`);
}

export async function freshDatabase(url = databaseUrl()): Promise<TestDatabase> {
  const database = await connectDatabase(url);
  await setupDatabase(database);
  const chain = async (id: string) =>
    (
      await database.tracking
        .find<EffectEntry>({ inventoryStockId: id, ...IN_CHAIN })
        .sort({ sequence: 1 })
        .toArray()
    ).map((entry): [number, string, string] => [
      entry.sequence,
      fromDecimal128(entry.delta).toFixed(),
      fromDecimal128(entry.onHandAfter).toFixed(),
    ]);
  const onHand = async (id: string) =>
    readOnHand((await database.stocks.findOne({ _id: id }))?.onHand).toFixed();
  return {
    ...database,
    stock: async (id, amount) => {
      await database.stocks.insertOne({ _id: id, onHand: toDecimal128(new Big(amount)) });
    },
    onHand,
    entriesOf: (referenceId) =>
      database.tracking.find({ referenceId }).sort({ attempt: 1, line: 1 }).toArray(),
    chain,
    expectChainsHold: async (openings) => {
      for (const [id, opening] of Object.entries(openings)) {
        let balance = new Big(opening);
        let sequence = 0;
        for (const [at, delta, after] of await chain(id)) {
          balance = balance.plus(delta);
          sequence += 1;
          expect([id, at, after]).toEqual([id, sequence, balance.toFixed()]);
        }
        expect([id, await onHand(id)]).toEqual([id, balance.toFixed()]);
      }
    },
    drop: async () => {
      await database.connection.dropDatabase();
      await database.connection.close();
    },
  };
}
