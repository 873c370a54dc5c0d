/** Many that want the same stock or document at once. */
import { createPost } from '../activities/post';
import { connectDatabase, type TrackingEntry } from '../activities/models';
import { TransactionUnavailableError, WriteConflictError } from '../activities/transaction';
import { trackingId, type ReferenceType } from '../commands';
import { metrics } from '../metrics';
import { metric } from './bridgeOnKafka';
import { order, posting } from './commandsFor';
import { databaseUrl, freshDatabase } from './database';

const PROCESSES = 50;
const ORDERS = 1;
/** Of the activity, each 8 s long. Temporal would go on without end. */
const MOST_TRIES = 5;

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
  expect(await database.onHand('hot')).toBe('925');
  await database.expectChainsHold({ hot: '1000' });
  await Promise.all(others.map((own) => own.connection.close()));
  await database.drop();
});

test('what a killed worker left open holds up its own command, and none that is posted with it', async () => {
  const database = await freshDatabase();
  for (const id of ['A', 'B']) await database.stock(id, '10');
  const commands = Array.from({ length: 8 }, (_, i) =>
    posting(order(`SO-${i}`, { [i % 2 ? 'A' : 'B']: '-1' })),
  );
  // As it dies: the entry of SO-3 is written, nothing is committed, and MongoDB keeps it for now.
  const session = await database.connection.startSession();
  session.startTransaction();
  const _id = trackingId('SALE_ORDER', 'SO-3', 'A');
  await database.tracking.insertOne({ _id } as TrackingEntry, { session });

  const post = createPost(database, { belowZeroRefuse: new Set<ReferenceType>() });
  const posted = await post(commands);
  expect(posted.map(({ status }) => status)).toEqual(
    commands.map((_, i) => (i === 3 ? 'rejected' : 'fulfilled')),
  );
  expect(posted[3]).toMatchObject({ reason: expect.any(WriteConflictError) });
  await session.abortTransaction();
  expect(await post([commands[3]!])).toMatchObject([{ value: { outcome: 'APPLIED' } }]);
  await database.expectChainsHold({ A: '10', B: '10' });
  expect([await database.onHand('A'), await database.onHand('B')]).toEqual(['6', '6']);
  await session.endSession();
  await database.drop();
});
