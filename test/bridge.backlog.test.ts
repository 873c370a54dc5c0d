/** What waits is told: how many records, and for how long the oldest has. */
import { Backlog } from '../bridge/backlog';
import type { KafkaRecord } from '../bridge/records';
import { metrics } from '../metrics';
import { FakeStarter, metric, TestKafka, until } from './bridgeOnKafka';

const on = new TestKafka();
beforeAll(() => on.open());
afterAll(() => on.close());

const shown = async (topic: string, partition: string) => ({
  records: await metric(metrics.lag, { topic, partition }),
  seconds: await metric(metrics.oldestSeconds, { topic, partition }),
});
const labelled = async (topic: string) =>
  (await metrics.oldestSeconds.get()).values.filter(({ labels }) => labels['topic'] === topic).length;

test('while Temporal is away records wait and grow older by their own time; once they pass nothing waits', async () => {
  const topic = await on.topic();
  const starter = new FakeStarter();
  const hourAgo = Date.now() - 3_600_000;
  starter.away = true;
  await on.send(topic, [
    { value: '0', timestamp: String(hourAgo) },
    { value: '1', timestamp: String(hourAgo + 600_000) },
  ]);
  const groupId = `group-${topic}`;
  const bridge = await on.bridge({ topics: [topic], groupId, starter, startFrom: 'earliest' });
  await until(async () => {
    const { records, seconds } = await shown(topic, '0');
    expect(records).toBe(2);
    expect(seconds).toBeGreaterThan(3_599);
  });
  starter.away = false;
  await until(async () => expect(await shown(topic, '0')).toEqual({ records: 0, seconds: 0 }));
  await bridge.drain();
  expect(await labelled(topic)).toBe(0);
});

test('ages: the first record that has not passed counts; an idle hour does not; a rebalance takes series away', async () => {
  const backlog = new Backlog();
  const topic = 'only-here';
  const now = Date.now();
  const record = (offset: number, agoMs: number) =>
    ({ topic, partition: 0, offset: String(offset), timestamp: String(now - agoMs) }) as KafkaRecord;
  const share = { topic, partition: 0, records: [record(5, 90_000), record(6, 60_000)], highWatermark: 9n };
  const seconds = async () => Math.round((await shown(topic, '0')).seconds);
  backlog.at(share, 5n, 0);
  expect([(await shown(topic, '0')).records, await seconds()]).toEqual([4, 90]);
  backlog.at(share, 6n, 1);
  expect(await seconds()).toBe(60);
  // What follows was not fetched yet: it is at most as old as the last that passed.
  backlog.at(share, 7n, 2);
  expect([(await shown(topic, '0')).records, await seconds()]).toEqual([2, 60]);
  backlog.holds(share, 0n);
  expect(await shown(topic, '0')).toEqual({ records: 0, seconds: 0 });
  backlog.holds(share, 3n);
  expect([(await shown(topic, '0')).records, await seconds()]).toEqual([3, 0]);
  // A record without a time, and one from a clock that is ahead.
  for (const timestamp of ['-1', String(now + 60_000)]) {
    backlog.at({ ...share, records: [{ ...record(5, 0), timestamp }] }, 5n, 0);
    expect(await seconds()).toBe(0);
  }
  backlog.keepOnly([]);
  expect(await labelled(topic)).toBe(0);
});
