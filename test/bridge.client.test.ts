/** What the Kafka client must bear: every compression, and its own collapse. */
import { randomUUID } from 'node:crypto';
import {
  CompressionCodecs,
  CompressionTypes,
  KafkaJSNumberOfRetriesExceeded,
  KafkaJSProtocolError,
} from 'kafkajs';
import { GaveUp } from '../bridge/consume';
import { openKafka } from '../bridge/kafka';
import { isNotKnownYet } from '../bridge/kafkaFault';
import { createTopics, untilKnown } from '../bridge/setup';
import { metrics } from '../metrics';
import { FakeStarter, ids, metric, TestKafka, until } from './bridgeOnKafka';

const on = new TestKafka();
let groupId = '';
beforeAll(() => on.open());
beforeEach(() => (groupId = `g-${randomUUID()}`));
afterAll(() => on.close());

test('a new topic is waited for until its leaders know it, and not for ever', async () => {
  const topic = `late-${randomUUID()}`;
  await expect(untilKnown(on.admin, [topic], 0)).rejects.toThrow(
    `Kafka created ${topic}, but after 0 s a broker still does not know it`,
  );
  let known = false;
  const waiting = untilKnown(on.admin, [topic]).then(() => (known = true));
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(known).toBe(false);
  await createTopics(on.admin, [{ topic, numPartitions: 3 }]);
  await waiting;
  expect(await on.admin.fetchTopicOffsets(topic)).toHaveLength(3);
  // Created twice, as by two processes at once: the second finds it there.
  await createTopics(on.admin, [{ topic, numPartitions: 3 }]);
});

test('what Kafka says while brokers learn of a topic is told from what does not pass', () => {
  const says = (type: string) => new KafkaJSProtocolError(Object.assign(new Error(type), { type }));
  const retried = (error: Error) =>
    new KafkaJSNumberOfRetriesExceeded(error, { retryCount: 5, retryTime: 9_000 });
  expect(isNotKnownYet(says('UNKNOWN_TOPIC_OR_PARTITION'))).toBe(true);
  expect(isNotKnownYet(retried(says('LEADER_NOT_AVAILABLE')))).toBe(true);
  expect(isNotKnownYet(retried(says('TOPIC_AUTHORIZATION_FAILED')))).toBe(false);
  expect(isNotKnownYet(new Error('connect ECONNREFUSED'))).toBe(false);
});

type Codecs = Record<number, () => { decompress(bytes: Buffer): Promise<Buffer> }>;
const codecs = CompressionCodecs as unknown as Codecs;

test.each([
  ['gzip', CompressionTypes.GZIP],
  ['snappy', CompressionTypes.Snappy],
  ['lz4', CompressionTypes.LZ4],
  ['zstd', CompressionTypes.ZSTD],
])('records compressed with %s are read', async (name, type) => {
  // The broker compresses, so the bytes are as a foreign producer's.
  const topic = await on.topic(1, { 'compression.type': name });
  const text = (i: number) => `ok 0.${i}`;
  await on.send(
    topic,
    Array.from({ length: 50 }, (_, i) => ({ value: text(i), headers: { pad: 'x'.repeat(2_000) } })),
  );
  const original = codecs[type];
  if (type !== CompressionTypes.GZIP && original === undefined) throw new Error(`${name} is not registered`);
  let decompressed = 0;
  if (original) {
    codecs[type] = () => ({
      ...original(),
      decompress: async (bytes) => {
        decompressed++;
        return original().decompress(bytes);
      },
    });
  }
  try {
    const starter = new FakeStarter();
    const bridge = await on.bridge({ topics: [topic], groupId, starter });
    await until(async () => expect(await on.committed(groupId, topic)).toEqual([50]));
    expect(starter.distinct).toEqual(ids(50));
    expect(decompressed).toBeGreaterThan(0);
    await bridge.drain();
  } finally {
    if (original) codecs[type] = original;
  }
});

describe('when the client gives up for good', () => {
  const broken = { decompress: () => Promise.reject(new TypeError('codec is broken')) };
  const gzip = codecs[CompressionTypes.GZIP];
  afterEach(() => {
    if (gzip) codecs[CompressionTypes.GZIP] = gzip;
  });

  test('the consumer is built again, and goes on where it stood', async () => {
    const topic = await on.topic(1, { 'compression.type': 'gzip' });
    await on.fill(topic, 2);
    const starter = new FakeStarter();
    const bridge = await on.bridge({ topics: [topic], groupId, starter, limits: { rebuildTries: 50 } });
    await until(async () => expect(await on.committed(groupId, topic)).toEqual([2]));
    const rebuilds = await metric(metrics.rebuilds);
    // A TypeError inside the client stops it and it does not restart.
    codecs[CompressionTypes.GZIP] = () => broken;
    await on.fill(topic, 3, 0, 2);
    await until(async () => expect(await metric(metrics.rebuilds)).toBeGreaterThan(rebuilds + 1));
    expect(bridge.state().ready).toBe(false);
    expect(on.lines.some((l) => l.msg.startsWith('Crash: KafkaJSNonRetriableError'))).toBe(true);
    if (gzip) codecs[CompressionTypes.GZIP] = gzip;
    await until(async () => expect(await on.committed(groupId, topic)).toEqual([5]));
    expect(starter.started).toEqual(ids(5));
    await bridge.drain();
  });

  test('after a bounded number of tries without progress the bridge gives up, so that the process ends', async () => {
    const topic = await on.topic(1, { 'compression.type': 'gzip' });
    await on.fill(topic, 2);
    codecs[CompressionTypes.GZIP] = () => broken;
    const bridge = await on.bridge({ topics: [topic], groupId, starter: new FakeStarter() });
    await expect(bridge.done).rejects.toThrow(GaveUp);
    await expect(bridge.done).rejects.toThrow(/failed 3 times in a row: .*codec is broken/);
    expect(bridge.state()).toMatchObject({ ready: false });
    // At most the start position; no record passed.
    expect((await on.committed(groupId, topic))[0]).toBeLessThanOrEqual(0);
  });

  test('a Kafka that cannot be reached at start is an error after as many tries', async () => {
    const kafka = openKafka({ brokers: ['127.0.0.1:1'], clientId: 'test' }, on.log);
    const limits = { rebuildTries: 1 };
    await expect(
      on.bridge({ kafka, topics: ['t'], groupId, starter: new FakeStarter(), limits }),
    ).rejects.toThrow(GaveUp);
  });
});
