/** Records that are gone, and the person who accepts it: `inventory accept-gap`, while the bridges keep running. */
import { leaveWord } from '../bridge/gaps';
import { topicSettings } from '../connections';
import { FakeStarter, ids, TestKafka, until } from './bridgeOnKafka';
import { createSystem, type System } from './system';

jest.setTimeout(120_000);
const on = new TestKafka();
let system: System;
beforeAll(async () => {
  await on.open();
  system = await createSystem(2);
});
afterAll(async () => {
  await on.close();
  await system.close();
});

const signed = ['--actor', 'ana', '--reason', 'retention was too short'];

test('a lost span is accepted once, by name, and only the very span that was seen', async () => {
  const topic = topicSettings(system.config).topics.PAYMENT_SUCCESS;
  const groupId = system.config.KAFKA_GROUP_ID;
  await on.fill(topic, 60, 0);
  await on.setOffsets(groupId, topic, [10, 0]);
  await on.deleteBelow(topic, 0, 50);
  const starter = new FakeStarter();
  const bridge = await on.bridge({ topics: [topic], groupId, starter });
  await until(() => expect(bridge.state().reasons.join()).toContain('offsets 10 to 49 (40 records at most)'));
  const members = await on.memberIds(groupId);

  // What was said of another span, or of one that has grown since, counts for nothing.
  await leaveWord(on.kafka, groupId, { topic, partition: 0 }, { from: 9n, next: 50n });
  const accept = (...args: string[]) => system.cli('accept-gap', ...args);
  const [wrong, whole, unsigned] = await Promise.all([
    accept('PAYMENT_SUCCESS', '--partition', '2', ...signed),
    accept('PAYMENT_SUCCESS', '--partition', '1', ...signed),
    accept('PAYMENT_SUCCESS', '--partition', '0', '--actor', 'ana', '--reason', ' '),
  ]);
  expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('has the partitions 0 to 1') });
  expect(whole).toMatchObject({
    code: 1,
    out: expect.stringMatching(/\[1\]: nothing to accept: offset 0 is next/),
  });
  expect(unsigned).toMatchObject({ code: 2, err: expect.stringContaining('--reason') });
  expect(await on.committed(groupId, topic)).toEqual([10, 0]);

  const accepted = await accept(topic, '--partition', '0', ...signed);
  expect(accepted).toMatchObject({ code: 0, err: '' });
  expect(accepted.out).toMatch(
    /offsets 10 to 49 .*\naccepted by ana: retention was too short\nthe bridge goes on at 50\n/,
  );
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([60, 0]));
  expect(starter.started).toEqual(ids(10, 0, 50));
  expect(await on.memberIds(groupId)).toEqual(members);
  expect(
    await system.database.connection.collection('inventory_accepted_gap').find().toArray(),
  ).toMatchObject([
    {
      group: groupId,
      topic,
      partition: 0,
      from: 10,
      next: 50,
      actor: 'ana',
      reason: 'retention was too short',
    },
  ]);
  expect((await accept(topic, '--partition', '0', ...signed)).code).toBe(1);
});
