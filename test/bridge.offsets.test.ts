/** What an offset may pass, and what it must not, with a starter of our own on a real Kafka. */
import { randomUUID } from 'node:crypto';
import { metrics } from '../metrics';
import { FakeStarter, ids, latch, metric, TestKafka, until } from './bridgeOnKafka';

const on = new TestKafka();
let groupId = '';
beforeAll(() => on.open());
beforeEach(() => (groupId = `g-${randomUUID()}`));
afterAll(() => on.close());

test('promise 3: the offset passes a record only when its workflow exists, and only as a contiguous prefix', async () => {
  const topic = await on.topic();
  await on.fill(topic, 10);
  const held = latch();
  const starter = new FakeStarter((id) => (id === '0.4' ? held.opened : undefined));
  await on.bridge({ topics: [topic], groupId, starter, limits: { deadlineMs: 3_000 } });

  // Everything but record 4 exists, 5 to 9 out of order before it.
  await until(() => expect(starter.distinct).toEqual(ids(10).filter((id) => id !== '0.4')));
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([4]));
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(await on.committed(groupId, topic)).toEqual([4]);

  held.open();
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([10]));
  expect(starter.started).toHaveLength(10);
});

test('a failure before any resolved offset skips nothing', async () => {
  const topic = await on.topic();
  await on.fill(topic, 3);
  let failures = 0;
  const starter = new FakeStarter((id) => {
    if (id === '0.0' && failures++ < 2) throw new Error('first record, first tries');
  });
  await on.bridge({
    topics: [topic],
    groupId,
    starter,
    limits: { pending: 1, probeMs: 50, deadlineMs: 50 },
  });
  await until(() => expect(starter.started).toEqual(['0.0', '0.1', '0.2']));
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([3]));
  expect(failures).toBe(3);
});

test('Temporal away for longer than the session time-out: nothing skipped, membership kept, the pause has a reason', async () => {
  const topic = await on.topic(2);
  await on.fill(topic, 20, 0);
  await on.fill(topic, 20, 1);
  const starter = new FakeStarter();
  starter.away = true;
  const pauses = await metric(metrics.pauses, { reason: 'temporal-unavailable' });
  const bridge = await on.bridge({ topics: [topic], groupId, starter });
  const members = await on.memberIds(groupId);
  const rebalances = await metric(metrics.rebalances);
  await until(() => expect(bridge.state().ready).toBe(false));
  expect(bridge.state().reasons.join()).toMatch(/\[0\]: temporal-unavailable for .*UNAVAILABLE/);
  await new Promise((resolve) => setTimeout(resolve, 8_000));

  expect(starter.started).toEqual([]);
  expect(starter.asked).toBeGreaterThan(10);
  expect(await on.committed(groupId, topic)).toEqual([0, 0]);
  expect(await metric(metrics.pauses, { reason: 'temporal-unavailable' })).toBeGreaterThan(pauses);
  expect(await on.memberIds(groupId)).toEqual(members);
  expect(await metric(metrics.rebalances)).toBe(rebalances);

  starter.away = false;
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([20, 20]));
  expect(starter.distinct).toEqual([...ids(20, 0), ...ids(20, 1)]);
  await until(() => expect(bridge.state()).toEqual({ ready: true, reasons: [] }));
  expect(await metric(metrics.pausedPartitions)).toBe(0);
});

test('a start that takes longer than the session time-out keeps its member in the group while others go on', async () => {
  const topic = await on.topic();
  await on.fill(topic, 20);
  const starter = new FakeStarter(
    (id) => new Promise((resolve) => setTimeout(resolve, id === '0.0' ? 7_500 : 450)),
  );
  const rebalances = await metric(metrics.rebalances);
  await on.bridge({ topics: [topic], groupId, starter, limits: { pending: 2 } });
  await until(() => expect(starter.started).toHaveLength(15));
  // No commit could keep the member alive: nothing may pass before the first record.
  expect(await on.committed(groupId, topic)).toEqual([0]);
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([20]));
  expect(starter.started).toHaveLength(20);
  expect(await metric(metrics.rebalances)).toBe(rebalances + 1);
});

test('promise 6: a bug in a handler stops its partition, says which record, and kills nothing', async () => {
  const topic = await on.topic(2);
  await on.send(topic, [{ value: 'ok 0.0' }, { value: 'throw' }, { value: 'ok 0.2' }], 0);
  await on.fill(topic, 5, 1);
  const starter = new FakeStarter();
  const bridge = await on.bridge({ topics: [topic], groupId, starter });
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([1, 5]));
  await until(() =>
    expect(bridge.state().reasons.join()).toMatch(/\[0\]: bug for .*offset 1: x is not a function/),
  );
  const line = on.lines.find((l) => (l['source'] as { topic?: string } | undefined)?.topic === topic);
  expect(line).toMatchObject({
    level: 50,
    source: { topic, partition: 0, offset: '1' },
    err: { type: 'TypeError' },
  });
  expect(await metric(metrics.pausedPartitions, { reason: 'bug' })).toBe(1);
  // The other partition still works.
  await on.fill(topic, 5, 1, 5);
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([1, 10]));
  await bridge.drain();
});

test('two consumers and a rebalance in the middle of batches: nothing lost', async () => {
  const topic = await on.topic(4);
  for (let p = 0; p < 4; p++) await on.fill(topic, 100, p);
  const slow = () => new Promise<void>((resolve) => setTimeout(resolve, 20));
  const [a, b] = [new FakeStarter(slow), new FakeStarter(slow)];
  const limits = { pending: 2 };
  const rebalances = await metric(metrics.rebalances);
  const first = await on.bridge({ topics: [topic], groupId, starter: a, limits });
  await until(() => expect(a.started.length).toBeGreaterThan(50));
  const second = await on.bridge({ topics: [topic], groupId, starter: b, limits });
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([100, 100, 100, 100]));
  // It was a rebalance, in the middle: both did a part.
  expect(await metric(metrics.rebalances)).toBeGreaterThanOrEqual(rebalances + 3);
  expect(a.distinct.length).toBeLessThan(400);
  expect(b.distinct.length).toBeGreaterThan(0);
  expect([...new Set([...a.started, ...b.started])].sort()).toEqual(
    [0, 1, 2, 3].flatMap((p) => ids(100, p)).sort(),
  );
  await Promise.all([first.drain(), second.drain()]);
});

test('a member that was thrown out of its group has its commit rejected, joins again, and loses nothing', async () => {
  const topic = await on.topic();
  await on.fill(topic, 5);
  let frozen = false;
  const starter = new FakeStarter((id) => {
    if (id !== '0.3' || frozen) return;
    frozen = true;
    // As a stopped process would: no heartbeat for longer than the session time-out.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 7_500);
  });
  const rejected = await metric(metrics.commitFailures);
  const rebalances = await metric(metrics.rebalances);
  await on.bridge({ topics: [topic], groupId, starter });
  await until(() => expect(frozen).toBe(true));
  await until(async () => expect(await metric(metrics.rebalances)).toBeGreaterThanOrEqual(rebalances + 2));
  expect(await metric(metrics.commitFailures)).toBeGreaterThan(rejected);
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([5]));
  expect(starter.distinct).toEqual(ids(5));
  await on.fill(topic, 1, 0, 5);
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([6]));
});

test('drain: no new work, what was begun finishes, its offsets are committed, the group is left', async () => {
  const topic = await on.topic();
  await on.fill(topic, 50);
  const held = latch();
  const starter = new FakeStarter((id) => (Number(id.slice(2)) >= 10 ? held.opened : undefined));
  const bridge = await on.bridge({ topics: [topic], groupId, starter, limits: { pending: 5 } });
  await until(() => expect(starter.asked).toBe(15));
  const drained = bridge.drain();
  setTimeout(held.open, 500);
  await drained;
  await bridge.done;
  expect(starter.distinct).toEqual(ids(15));
  expect(await on.committed(groupId, topic)).toEqual([15]);
  expect(await on.memberIds(groupId)).toEqual([]);
});

test('drain ends in bounded time although a start never answers', async () => {
  const topic = await on.topic();
  await on.fill(topic, 3);
  const starter = new FakeStarter((id) => (id === '0.1' ? new Promise<void>(() => undefined) : undefined));
  const bridge = await on.bridge({ topics: [topic], groupId, starter });
  await until(() => expect(starter.started.length).toBe(2));
  const began = Date.now();
  await bridge.drain();
  expect(Date.now() - began).toBeLessThan(6_000);
  expect(await on.committed(groupId, topic)).toEqual([1]);
});

test('the markers of a transaction are passed with the records before them', async () => {
  const topic = await on.topic();
  const producer = on.kafka.producer({
    transactionalId: randomUUID(),
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  const aborted = await producer.transaction();
  await aborted.send({ topic, messages: [{ value: 'ok aborted' }] });
  await aborted.abort();
  const committed = await producer.transaction();
  await committed.send({ topic, messages: [{ value: 'ok 0.0' }] });
  await committed.commit();
  await producer.disconnect();
  const starter = new FakeStarter();
  await on.bridge({ topics: [topic], groupId, starter });
  // Two records and two markers.
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([4]));
  expect(starter.started).toEqual(['0.0']);
});
