/**
 * Contender: Restate. Its own Kafka subscription invokes this handler once per event, and the handler posts one
 * transaction. The posting is idempotent by its key, so it stands bare in the handler: wrapped in `ctx.run`, which
 * journals its result, the same service was slower.
 */
import * as restate from '@restatedev/restate-sdk';
import { READY, setting } from '../../../../dist/test/bench/consumers/consume.js';
import { Lanes } from '../../../../dist/test/bench/consumers/lanes.js';
import { openLedger, post } from '../../../../dist/test/bench/consumers/ledger.js';
import { readMovement } from '../../../../dist/test/bench/consumers/movement.js';

// The SDK calls it, and Node 20 does not have it yet.
Promise.withResolvers ??= () => {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
};

const ledger = await openLedger(setting('MONGO_URL'));
const lanes = new Lanes();
const inventory = restate.service({
  name: 'inventory',
  handlers: {
    moveStock: restate.handlers.handler({ input: restate.serde.binary }, async (_ctx, value) => {
      const source = { topic: 'restate', partition: 0, offset: '0' };
      const movement = readMovement(Buffer.from(value).toString(), source);
      const stocks = movement.legs.map((leg) => leg.stockId);
      await lanes.run(stocks, () => post(ledger, movement));
    }),
  },
  // What is done is not kept: the ledger keeps it.
  options: { journalRetention: 0 },
});
await restate.serve({ services: [inventory], port: Number(setting('BENCH_RESTATE_SERVICE_PORT')) });
process.stdout.write(`${READY}\n`);
