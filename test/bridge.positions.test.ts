/** Where reading starts, and what happens when records are gone. Nothing is guessed, nothing is jumped. */
import { randomUUID } from 'node:crypto';
import { Partitioners } from 'kafkajs';
import { StartPositionError } from '../bridge/positions';
import { metrics } from '../metrics';
import { FakeStarter, ids, metric, TestKafka, until } from './bridgeOnKafka';

const on = new TestKafka();
let groupId = '';
beforeAll(() => on.open());
beforeEach(() => (groupId = `g-${randomUUID()}`));
afterAll(() => on.close());

describe('a group that never committed', () => {
  test('needs to be told where to start when records wait; the refusal names setting, group and partition', async () => {
    const topic = await on.topic(2);
    await on.fill(topic, 3, 1);
    const refused = on.bridge({ topics: [topic], groupId, starter: new FakeStarter(), startFrom: undefined });
    await expect(refused).rejects.toThrow(StartPositionError);
    await expect(refused).rejects.toThrow(
      new RegExp(`group ${groupId} .*${topic}\\[1\\] \\(offsets 0 to 2\\).*KAFKA_START_FROM=earliest`),
    );
  });

  test('starts at the beginning of empty partitions without being told, and says so to Kafka', async () => {
    const topic = await on.topic(2);
    const starter = new FakeStarter();
    const bridge = await on.bridge({ topics: [topic], groupId, starter, startFrom: undefined });
    await until(async () => expect(await on.committed(groupId, topic)).toEqual([0, 0]));
    await bridge.drain();
    // Records that arrive while nobody runs are not a reason to ask again.
    await on.fill(topic, 2, 1);
    await on.bridge({ topics: [topic], groupId, starter, startFrom: undefined });
    await until(async () => expect(await on.committed(groupId, topic)).toEqual([0, 2]));
    expect(starter.started).toEqual(['1.0', '1.1']);
  });

  test('latest: leaves what was there, takes what comes', async () => {
    const topic = await on.topic();
    await on.fill(topic, 3);
    const starter = new FakeStarter();
    const bridge = await on.bridge({ topics: [topic], groupId, starter, startFrom: 'latest' });
    await until(async () => expect(await on.committed(groupId, topic)).toEqual([3]));
    await on.fill(topic, 2, 0, 3);
    await until(async () => expect(await on.committed(groupId, topic)).toEqual([5]));
    await bridge.drain();
    // Once committed, the setting means nothing: what came in between is not left out.
    await on.fill(topic, 2, 0, 5);
    await on.bridge({ topics: [topic], groupId, starter, startFrom: 'latest' });
    await until(async () => expect(await on.committed(groupId, topic)).toEqual([7]));
    expect(starter.started).toEqual(ids(4, 0, 3));
  });

  test('a time: takes what is as young or younger, also where nothing is', async () => {
    const topic = await on.topic(2);
    const at = Date.parse('2024-05-01T12:00:00Z');
    const aged = [-2, -1, 0, 1].map((s, i) => ({ value: `ok 0.${i}`, timestamp: String(at + s * 1000) }));
    await on.send(topic, aged, 0);
    await on.send(topic, [{ value: 'ok 1.0', timestamp: String(at - 5_000) }], 1);
    const starter = new FakeStarter();
    await on.bridge({ topics: [topic], groupId, starter, startFrom: '2024-05-01T14:00:00+02:00' });
    await until(async () => expect(await on.committed(groupId, topic)).toEqual([4, 1]));
    expect(starter.started.sort()).toEqual(['0.2', '0.3']);
  });

  test('two bridges that start at once on a full topic skip nothing', async () => {
    const topic = await on.topic(4);
    for (let p = 0; p < 4; p++) await on.fill(topic, 20, p);
    const starters = [new FakeStarter(), new FakeStarter()];
    const bridges = await Promise.all(
      starters.map((starter) => on.bridge({ topics: [topic], groupId, starter })),
    );
    await until(async () => expect(await on.committed(groupId, topic)).toEqual([20, 20, 20, 20]));
    expect([...new Set(starters.flatMap((s) => s.started))]).toHaveLength(80);
    await Promise.all(bridges.map((bridge) => bridge.drain()));
  });
});

test('a partition that was created later starts at its beginning, whatever the setting says', async () => {
  const topic = await on.topic();
  await on.fill(topic, 1);
  const starter = new FakeStarter();
  const before = await on.bridge({ topics: [topic], groupId, starter, startFrom: 'earliest' });
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([1]));
  await before.drain();
  await on.admin.createPartitions({ topicPartitions: [{ topic, count: 2 }] });
  // A new producer: one that has not heard of a partition drops what is meant for it.
  const producer = on.kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  const messages = [0, 1, 2].map((i) => ({ value: `ok 1.${i}`, partition: 1 }));
  await producer.send({ topic, messages });
  await producer.disconnect();
  await on.bridge({ topics: [topic], groupId, starter, startFrom: 'latest' });
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([1, 3]));
  expect(starter.started).toEqual(['0.0', ...ids(3, 1)]);
});

test('a missing topic is named, with the remedy', async () => {
  const topic = await on.topic();
  const starter = new FakeStarter();
  const missing = on.bridge({ topics: [topic, 'nobody-made-this'], groupId, starter });
  await expect(missing).rejects.toThrow(/no topic nobody-made-this\. Run "inventory setup"/);
  await expect(on.bridge({ topics: [topic], deadLetterTopic: 'nor-this', groupId, starter })).rejects.toThrow(
    /nor-this/,
  );
  expect(await on.admin.listTopics()).not.toContain('nobody-made-this');
});

describe('lost span', () => {
  test('found at start: the partition stops with the exact span, the other goes on, the offset stays', async () => {
    const topic = await on.topic(2);
    await on.fill(topic, 60, 0);
    await on.fill(topic, 5, 1);
    await on.setOffsets(groupId, topic, [10, 0]);
    await on.deleteBelow(topic, 0, 50);
    const pauses = await metric(metrics.pauses, { reason: 'lost-span' });
    const starter = new FakeStarter();
    const bridge = await on.bridge({ topics: [topic], groupId, starter });
    await until(async () => expect(await on.committed(groupId, topic)).toEqual([10, 5]));
    await until(() => expect(bridge.state().reasons.join()).toContain(`${topic}[0]: lost-span`));
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await on.committed(groupId, topic)).toEqual([10, 5]);
    expect(starter.started).toEqual(ids(5, 1));
    expect(await metric(metrics.pauses, { reason: 'lost-span' })).toBe(pauses + 1);
    const told = on.lines.filter((l) => l.msg.includes(`${topic}[0]: offsets 10 to 49 `) && l.level === 50);
    expect(told).toHaveLength(1);
    expect(bridge.state().reasons.join()).toContain('docs/runbook.md, InventoryRecordsLost');

    // A person says where to go on.
    await bridge.drain();
    await on.setOffsets(groupId, topic, [50, 5]);
    await on.bridge({ topics: [topic], groupId, starter });
    await until(async () => expect(await on.committed(groupId, topic)).toEqual([60, 5]));
    expect(starter.distinct).toEqual([...ids(10, 0, 50), ...ids(5, 1)].sort());
  });

  test('found at run time: the client does not jump to the beginning', async () => {
    const topic = await on.topic(2);
    await on.fill(topic, 10, 0);
    const starter = new FakeStarter();
    const bridge = await on.bridge({
      topics: [topic],
      groupId,
      starter,
      limits: { pauseMs: 2_000, pauseMaxMs: 2_000 },
    });
    await until(async () => expect(await on.committed(groupId, topic)).toEqual([10, 0]));
    starter.away = true;
    await on.fill(topic, 50, 0, 10);
    await until(() => expect(bridge.state().reasons.join()).toContain('temporal-unavailable'));
    await on.deleteBelow(topic, 0, 40);
    starter.away = false;
    await until(() => expect(bridge.state().reasons.join()).toContain(`${topic}[0]: lost-span`));
    expect(bridge.state().reasons.join()).toContain('offsets 10 to 39 ');
    await on.fill(topic, 5, 1);
    await until(async () => expect(await on.committed(groupId, topic)).toEqual([10, 5]));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await on.committed(groupId, topic)).toEqual([10, 5]);
    expect(starter.distinct).toEqual([...ids(10, 0), ...ids(5, 1)].sort());
    await bridge.drain();
  });

  test('an offset above the end: the topic was made anew, and is not read from anywhere by guess', async () => {
    const topic = await on.topic();
    await on.fill(topic, 5);
    await on.setOffsets(groupId, topic, [100]);
    const starter = new FakeStarter();
    const bridge = await on.bridge({ topics: [topic], groupId, starter });
    await until(() =>
      expect(bridge.state().reasons.join()).toMatch(
        /lost-span .*offset 100 is next, but the topic ends at 5/,
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await on.committed(groupId, topic)).toEqual([100]);
    expect(starter.started).toEqual([]);
    await bridge.drain();
  });
});
