/**
 * Contender: plain kafkajs, one transaction per fetched batch. The lower bound on cost: nobody can say afterwards
 * what became of one event, and one bad event would stop its whole batch.
 */
import Big from 'big.js';
import { mongo } from 'mongoose';
import { consume, setting } from './consume';
import { Lanes } from './lanes';
import { entryOf, inTransaction, openLedger, type Entry, type Ledger } from './ledger';
import { keyOf, type Movement } from './movement';

const { Decimal128 } = mongo;
/** Larger transactions gained nothing. */
const MOST = 2_000;

async function main(): Promise<void> {
  const ledger = await openLedger(setting('MONGO_URL'));
  // One transaction at a time: several over the same stocks conflict, and halved the rate.
  const lane = new Lanes();
  await consume(MOST, (movements) => lane.run(['ledger'], () => postAll(ledger, movements)));
}

/** Known keys and stocks in one query each, entries in one insert, each stock updated once. */
async function postAll(ledger: Ledger, movements: readonly Movement[]): Promise<void> {
  const applied = await inTransaction(ledger, async (session) => {
    const keys = movements.flatMap((movement) => movement.legs.map((leg) => keyOf(movement, leg.stockId)));
    const stockIds = [...new Set(movements.flatMap((movement) => movement.legs.map((leg) => leg.stockId)))];
    const found = await ledger.tracking
      .find({ _id: { $in: keys } }, { session, projection: { _id: 1 }, batchSize: MOST })
      .toArray();
    const seen = new Set(found.map((entry) => entry._id));
    const stocks = new Map(
      (await ledger.stocks.find({ _id: { $in: stockIds } }, { session, batchSize: MOST }).toArray()).map(
        (stock) => [stock._id, { onHand: new Big(stock.onHand.toString()), sequence: stock.sequence }],
      ),
    );
    const entries: Entry[] = [];
    const sums = new Map<string, Big>();
    for (const movement of movements) {
      if (seen.has(keyOf(movement, movement.legs[0]!.stockId))) continue;
      for (const [line, leg] of movement.legs.entries()) {
        const stock = stocks.get(leg.stockId)!;
        stock.onHand = stock.onHand.plus(leg.delta);
        stock.sequence += 1;
        sums.set(leg.stockId, (sums.get(leg.stockId) ?? new Big(0)).plus(leg.delta));
        const after = { onHand: Decimal128.fromString(stock.onHand.toFixed()), sequence: stock.sequence };
        entries.push(entryOf(movement, line, after));
        seen.add(keyOf(movement, leg.stockId));
      }
    }
    if (entries.length === 0) return;
    await ledger.tracking.insertMany(entries, { session });
    await ledger.stocks.bulkWrite(
      [...sums].sort().map(([_id, sum]) => ({
        updateOne: {
          filter: { _id },
          update: {
            $inc: { onHand: Decimal128.fromString(sum.toFixed()) },
            $set: { sequence: stocks.get(_id)!.sequence },
          },
        },
      })),
      { session },
    );
  });
  if (!applied) throw new Error('another process applied part of this batch: deliver it again');
}

void main();
