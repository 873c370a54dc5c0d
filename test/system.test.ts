/** From Kafka to the ledger, with real processes that are really killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { SEARCH_ATTRIBUTES } from '../commands';
import { decodeAll } from '../stack/settled';
import { createSystem, type System } from './system';

// Ten times what it takes: on a machine that is busy otherwise, starting a process alone takes half a minute.
jest.setTimeout(400_000);
let system: System;
afterEach(() => system.close());

const paid = (id: number, quantity = '1', stockId = 'A') => ({
  saleOrderId: `SO-${id}-${system.name}`,
  paidAt: '2026-11-01T12:00:00Z',
  lines: [{ stockId, quantity }],
});
const range = (n: number, from = 0) => Array.from({ length: n }, (_, i) => from + i);

test('promise 1: events, their redeliveries and a replay of everything by a new group change stock once', async () => {
  system = await createSystem();
  await system.database.stock('A', '100');
  await system.database.stock('B', '0');
  const run = await system.start('run');
  await system.publish(
    'PAYMENT_SUCCESS',
    range(20).map((id) => paid(id)),
  );
  await system.publish(
    'PAYMENT_SUCCESS',
    range(10).map((id) => paid(id)),
  );
  await system.publish('MATERIAL_TRANSFERRED', [
    { transferId: `T-1-${system.name}`, fromStockId: 'A', toStockId: 'B', quantity: '5' },
  ]);
  await system.settled();
  expect([await system.database.onHand('A'), await system.database.onHand('B')]).toEqual(['75', '5']);
  expect(await run.kill('SIGTERM')).toBe(0);

  const again = await system.start('run', { KAFKA_GROUP_ID: `${system.config.KAFKA_GROUP_ID}-again` });
  await system.settled(`${system.config.KAFKA_GROUP_ID}-again`);
  expect([await system.database.onHand('A'), await system.database.onHand('B')]).toEqual(['75', '5']);
  expect(await system.database.tracking.countDocuments()).toBe(22);
  await system.database.expectChainsHold({ A: '100', B: '0' });
  await again.kill('SIGTERM');
});

test('promise 1: what Temporal has forgotten, the ledger still knows', async () => {
  system = await createSystem();
  await system.database.stock('A', '10');
  await system.start('run');
  await system.publish('PAYMENT_SUCCESS', [paid(1)]);
  const [first] = await system.settled();
  await system.temporal.client.workflowService.deleteWorkflowExecution({
    namespace: system.temporal.namespace,
    workflowExecution: { workflowId: first!.workflowId },
  });
  // Deleting takes a moment; until then the ID is taken.
  while ((await system.settled()).length > 0) await sleep(100);
  await system.publish('PAYMENT_SUCCESS', [paid(1)]);
  const [second] = await system.settled();
  expect(second!.workflowId).toBe(first!.workflowId);
  expect(second!.runId).not.toBe(first!.runId);
  expect(await system.temporal.client.workflow.result(second!.workflowId)).toMatchObject({
    outcome: 'DUPLICATE',
  });
  expect(await system.database.onHand('A')).toBe('9');
});

test('promise 4: an edited order is a visible CONFLICT and leaves stock alone', async () => {
  system = await createSystem();
  await system.database.stock('A', '10');
  await system.start('run');
  await system.publish('PAYMENT_SUCCESS', [paid(1, '2')]);
  await system.settled();
  await system.publish('PAYMENT_SUCCESS', [paid(1, '3')]);
  const conflicts = (await system.settled()).filter(
    (workflow) => workflow.searchAttributes[SEARCH_ATTRIBUTES.outcome]?.[0] === 'PARKED/CONFLICT',
  );
  expect(conflicts).toHaveLength(1);
  expect(await system.database.onHand('A')).toBe('8');
  expect(conflicts[0]!.searchAttributes[SEARCH_ATTRIBUTES.reference]).toEqual([
    `SALE_ORDER/SO-1-${system.name}`,
  ]);
});

test('a process killed with -9 in mid-flight, and started again, neither loses nor doubles', async () => {
  system = await createSystem(2);
  await system.database.stock('A', '1000');
  const first = await system.start('run');
  const published = system.publish(
    'PAYMENT_SUCCESS',
    range(150).map((id) => paid(id)),
  );
  // Killed when some, but not all, is in the ledger.
  let done = 0;
  while (done < 10) done = await system.database.tracking.countDocuments();
  expect(await first.kill('SIGKILL')).toBe('SIGKILL');
  await published;
  const atDeath = await system.database.tracking.countDocuments();
  expect(atDeath).toBeLessThan(150);
  await system.start('run');
  await system.settled();
  expect(await system.database.onHand('A')).toBe('850');
  expect(await system.database.tracking.countDocuments()).toBe(150);
  await system.database.expectChainsHold({ A: '1000' });
});

test('two bridges and two workers share the work, and a bridge that leaves in between changes nothing', async () => {
  system = await createSystem(4);
  await system.database.stock('A', '1000');
  const workers = [await system.start('worker'), await system.start('worker')];
  const staying = await system.start('bridge');
  const leaving = await system.start('bridge');
  await Promise.all(
    range(4).map((partition) =>
      system.publish(
        'PAYMENT_SUCCESS',
        range(30, partition * 30).map((id) => paid(id)),
        partition,
      ),
    ),
  );
  await system.publish(
    'PAYMENT_SUCCESS',
    range(40).map((id) => paid(id)),
    3,
  );
  expect(await leaving.kill('SIGTERM')).toBe(0);
  await system.settled();
  expect(await system.database.onHand('A')).toBe('880');
  await system.database.expectChainsHold({ A: '1000' });
  for (const process of [staying, ...workers]) expect(await process.kill('SIGTERM')).toBe(0);
});

test('a burst goes in groups: duplicates, an edited order and a broken stock among them change nothing else', async () => {
  system = await createSystem(2);
  for (const id of ['A', 'B']) await system.database.stock(id, '1000');
  await system.database.stocks.insertOne({ _id: 'BROKEN', onHand: 'many' as unknown as number });
  const grouped = { SINGLE_STARTS_PER_SECOND: '5' };
  const first = await system.start('run', grouped);
  await system.publish('PAYMENT_SUCCESS', [paid(0), paid(1)]);
  await system.settled();
  await system.publish('PAYMENT_SUCCESS', [
    ...range(200).map((id) => paid(id, '1', id % 2 ? 'A' : 'B')),
    paid(900, '1', 'BROKEN'),
    ...range(100, 150).map((id) => paid(id, '1', id % 2 ? 'A' : 'B')),
  ]);
  const applied = () => system.database.tracking.countDocuments({ outcome: 'APPLIED' });
  while ((await applied()) < 100) await sleep(20);
  expect(await first.kill('SIGKILL')).toBe('SIGKILL');
  await system.start('run', grouped);
  while ((await applied()) < 250) await sleep(100);
  // The broken stock holds up its own order only; mended, it goes on by itself.
  await system.database.stocks.updateOne({ _id: 'BROKEN' }, { $set: { onHand: 5 } });
  await system.settled();
  // SO-0 went to A at first and was edited to B: a conflict, parked in a workflow of its own.
  expect([await system.database.onHand('A'), await system.database.onHand('B')]).toEqual(['874', '876']);
  expect(await system.database.onHand('BROKEN')).toBe('4');
  await system.database.expectChainsHold({ A: '1000', B: '1000' });
  const ids = await system.database.tracking.distinct('workflowId');
  expect(ids.filter((id) => id.startsWith('group/')).length).toBeGreaterThan(0);
  expect(await applied()).toBe(251);
});

test('events before the catalogue: the order waits for its stock, then is applied', async () => {
  system = await createSystem();
  await system.start('run');
  const event = paid(1, '2', `latte@${system.name}`);
  await system.publish('PAYMENT_SUCCESS', [event]);
  const [id] = decodeAll(system.config, [
    { topic: 'PAYMENT_SUCCESS', value: JSON.stringify(event) },
  ]).commands;
  const outcome = () =>
    system.temporal.client.workflow
      .getHandle(id!)
      .describe()
      .then(({ searchAttributes }) => searchAttributes[SEARCH_ATTRIBUTES.outcome]?.[0])
      .catch(() => undefined);
  while ((await outcome()) !== 'UNKNOWN_STOCK') await sleep(100);
  await system.publish('MERCHANT', [
    { op: 'c', before: null, after: { id: system.name }, source: { connector: 'postgresql' } },
  ]);
  await system.publish('PRODUCT_VARIANT', [
    {
      op: 'c',
      before: null,
      after: { id: 'latte', merchant_id: system.name },
      source: { connector: 'postgresql' },
    },
  ]);
  await system.settled();
  expect(await system.database.onHand(`latte@${system.name}`)).toBe('-2');
  expect(await system.database.locations.findOne({ _id: `${system.name}/default` })).toMatchObject({
    merchantId: system.name,
  });
});
