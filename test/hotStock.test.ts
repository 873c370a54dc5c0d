/** Many processes that all want the same stock. */
import { createPost } from '../activities/post';
import { connectDatabase } from '../activities/models';
import { TransactionUnavailableError } from '../activities/transaction';
import type { ReferenceType } from '../commands';
import { metrics } from '../metrics';
import { metric } from './bridgeOnKafka';
import { order, posting } from './commandsFor';
import { databaseUrl, freshDatabase } from './database';

const PROCESSES = 50;
const ORDERS = 4;
/** Temporal would try without end; a try is a whole transaction with all its own tries in 8 s. */
const MOST_TRIES = 3;

test('fifty processes on one hot stock: nobody starves, tries are bounded, the chain is whole', async () => {
  const url = databaseUrl();
  const database = await freshDatabase(url);
  const others = await Promise.all(Array.from({ length: PROCESSES }, () => connectDatabase(url)));
  await database.stock('hot', '1000');
  const conflicts = await metric(metrics.transactions, { result: 'conflict' });
  const tries = await Promise.all(
    others.map(async (own, process) => {
      const post = createPost(own, { belowZeroRefuse: new Set<ReferenceType>() });
      let most = 0;
      for (let i = 0; i < ORDERS; i++) {
        const one = posting(order(`HOT-${process}-${i}`, { hot: '-1.5' }));
        for (let tried = 1; ; tried++) {
          most = Math.max(most, tried);
          const posted = await post([one]).catch((error: unknown) => error);
          if (!(posted instanceof TransactionUnavailableError)) {
            expect(posted).toMatchObject([{ status: 'fulfilled', value: { outcome: 'APPLIED' } }]);
            break;
          }
        }
      }
      return most;
    }),
  );
  expect(Math.max(...tries)).toBeLessThanOrEqual(MOST_TRIES);
  const perOrder =
    ((await metric(metrics.transactions, { result: 'conflict' })) - conflicts) / (PROCESSES * ORDERS);
  // Everybody against everybody at every try would be one conflict for each of the others.
  expect(perOrder).toBeLessThan(PROCESSES);
  expect(await database.onHand('hot')).toBe('700');
  await database.expectChainsHold({ hot: '1000' });
  await Promise.all(others.map((own) => own.connection.close()));
  await database.drop();
});
