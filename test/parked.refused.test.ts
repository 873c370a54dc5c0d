/** A refusal in the ledger, on a real replica set: it sticks, and only a person opens it again. */
import { findUnsettled } from '../activities/unsettled';
import { reopenedWorkflowId, type ReferenceType } from '../commands';
import { transfer } from './commandsFor';
import { freshDatabase, type TestDatabase } from './database';
import { createDesk, type Desk } from './desk';

let database: TestDatabase;
let desk: Desk;

beforeAll(async () => {
  database = await freshDatabase();
  desk = createDesk(database, ['MATERIAL_TRANSFER']);
});
afterAll(() => database.drop());

test('promise 9: a refusal sticks for its content, whatever the stock holds later', async () => {
  await database.stock('s1', '1');
  const command = transfer('S', { s1: '-2' });
  await desk.park(command);
  await desk.decide(command, 'discard');
  await database.stocks.updateOne({ _id: 's1' }, { $set: { onHand: 100 } });
  for (let i = 0; i < 3; i++) {
    expect(await desk.deliver(transfer('S', { s1: '-2' }))).toMatchObject({
      outcome: 'REFUSED',
      decided: { decision: 'discard', actor: 'ana', reason: 'because' },
    });
  }
  // An edited version is a question of its own, not a way round the refusal.
  expect(await desk.deliver(transfer('S', { s1: '-1' }))).toMatchObject({
    outcome: 'CONFLICT',
    asOf: 0,
    differences: [{ recorded: '0', asked: '-1' }],
  });
  expect(await database.onHand('s1')).toBe('100');
});

test('reopen: a new attempt for the refused content, signed; a second person who re-opens it is told', async () => {
  await database.stock('o1', '1');
  const command = transfer('O', { o1: '-2' });
  await desk.park(command);
  await desk.decide(command, 'discard');
  const reference = { referenceType: 'MATERIAL_TRANSFER' as ReferenceType, referenceId: 'O' };
  const [refused] = await findUnsettled(database, reference);
  expect(refused).toMatchObject({ attempt: 2, outcome: 'REFUSED', command: { ...command } });

  const workflowId = reopenedWorkflowId(command, 2);
  const again = { attempt: 2, actor: 'ben', reason: 'the count was wrong' };
  expect(await desk.park(command, workflowId, again)).toMatchObject({
    outcome: 'PARKED',
    of: { workflowId },
  });
  expect(await findUnsettled(database, reference)).toMatchObject([{ attempt: 3, outcome: 'PARKED' }]);
  expect(await desk.park(command, 'late', { ...again, actor: 'cem' })).toMatchObject({
    outcome: 'PARKED',
    of: { workflowId },
  });
  await database.stocks.updateOne({ _id: 'o1' }, { $set: { onHand: 5 } });
  expect(await desk.decide(command, 'retry', { workflowId })).toMatchObject({ legs: [{ onHandAfter: '3' }] });
  expect((await database.entriesOf('O')).map((e) => [e.attempt, e.outcome, e.decision, e.actor])).toEqual([
    [1, 'PARKED', undefined, undefined],
    [2, 'REFUSED', 'discard', 'ana'],
    [3, 'PARKED', 'reopen', 'ben'],
    [4, 'APPLIED', 'retry', 'ana'],
  ]);
  expect((await desk.deliver(transfer('O', { o1: '-2' }))).outcome).toBe('DUPLICATE');
  expect(await findUnsettled(database, reference)).toEqual([]);
});
