/** A new version wants an index and a field that a ledger in use does not have: `setup` adds it while work goes on. */
import { setTimeout as sleep } from 'node:timers/promises';
import { checkDatabase } from '../activities/setup';
import { order } from './commandsFor';
import { createDesk } from './desk';
import { createSystem, type System } from './system';

const STOCKS = ['A', 'B', 'C'];
let system: System;

beforeAll(async () => {
  system = await createSystem();
});
afterAll(() => system.close());

test('an index is built under running traffic, and entries without the new field count as before', async () => {
  const { database } = system;
  for (const id of STOCKS) await database.stock(id, '100000');
  const legs = (id: number) => ({ [STOCKS[id % 3]!]: '-1' });
  const desk = createDesk(database);
  for (let id = 0; id < 60; id++) await desk.deliver(order(`SO-${id}`, legs(id)));
  // As a version left it that knew neither this index nor these fields.
  await database.tracking.dropIndex('reference_attempt');
  await database.tracking.updateMany({}, { $unset: { runId: '', belowZero: '' } });
  await expect(checkDatabase(database)).rejects.toThrow('reference_attempt of inventory_tracking is missing');

  let busy = true;
  let delivered = 60;
  // Each a process of its own, as far as transactions are concerned.
  const traffic = [desk, createDesk(database)].map(async (one, at) => {
    for (let id = 1_000 * (at + 1); busy; id++) {
      expect(await one.deliver(order(`SO-${id}`, legs(id)))).toMatchObject({ outcome: 'APPLIED' });
      delivered++;
    }
  });
  expect(await system.cli('setup')).toMatchObject({ code: 0, err: '' });
  expect(await checkDatabase(database)).toContain('indexes built');
  for (const built = delivered; delivered < built + 20;) await sleep(10);
  busy = false;
  await Promise.all(traffic);
  expect(delivered).toBeGreaterThan(80);

  // Old entries and new ones alike: delivered again, a document is a duplicate; edited, a conflict.
  for (const id of [7, 1_000])
    expect(await desk.deliver(order(`SO-${id}`, legs(id)))).toMatchObject({ outcome: 'DUPLICATE' });
  for (const id of [8, 1_001])
    expect(await desk.deliver(order(`SO-${id}`, { A: '-5' }))).toMatchObject({ outcome: 'CONFLICT' });
  expect(await database.tracking.countDocuments()).toBe(delivered);
  await database.expectChainsHold(Object.fromEntries(STOCKS.map((id) => [id, '100000'])));
});
