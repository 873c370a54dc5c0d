/**
 * Contender: plain kafkajs, one transaction per event. Written with care: 30 transactions in flight over all
 * partitions, one at a time per stock, and offsets pass only what is in the ledger.
 */
import { consume, setting } from './consume';
import { Lanes, Slots } from './lanes';
import { openLedger, post } from './ledger';

/** More transactions at once gained nothing on two cores. */
const IN_FLIGHT = 30;
/** Offsets pass and heartbeats go out this often. */
const CHUNK = 250;

async function main(): Promise<void> {
  const ledger = await openLedger(setting('MONGO_URL'));
  const lanes = new Lanes();
  const slots = new Slots(IN_FLIGHT);
  await consume(CHUNK, async (movements) => {
    await Promise.all(
      movements.map((movement) => {
        const stocks = movement.legs.map((leg) => leg.stockId);
        // A slot only when the stocks are free: whoever waits for a hot stock keeps nobody else waiting.
        return lanes.run(stocks, () => slots.run(() => post(ledger, movement)));
      }),
    );
  });
}

void main();
