/** A replay of a topic that has lost records, before or while it is read, says so and never ends short in silence. */
import type { KafkaRecord } from '../bridge/records';
import { openAdmin, type KafkaAdmin } from '../bridge/kafka';
import { readSpans } from '../bridge/replayRead';
import { resolveSpans, type Span } from '../bridge/replaySpans';
import { TestKafka, until } from './bridgeOnKafka';

jest.setTimeout(120_000);
const on = new TestKafka();
let admin: KafkaAdmin;
let compactedTopic: string;
beforeAll(async () => {
  await on.open();
  admin = await openAdmin(on.kafka);
  // First, because Kafka's cleaner comes by every 15 seconds.
  compactedTopic = await toBeCompacted();
});
afterAll(async () => {
  await admin.close();
  await on.close();
});

async function read(topic: string, spans: Span[], onRead?: (offset: number) => Promise<void>) {
  const offsets: string[] = [];
  const onRecords = async (records: KafkaRecord[], partition: number) => {
    for (const { offset } of records) {
      offsets.push(`${partition}:${offset}`);
      await onRead?.(Number(offset));
    }
  };
  const { notes } = await readSpans({ kafka: on.kafka, topic, spans, onRecords, idleMs: 2_000 });
  return { offsets: offsets.sort(), notes };
}

/** Offsets 0 to 3 stand for what later records replace. */
async function toBeCompacted(): Promise<string> {
  const topic = await on.topic(1, {
    'cleanup.policy': 'compact',
    'min.cleanable.dirty.ratio': '0.001',
    'max.compaction.lag.ms': '1',
    'segment.ms': '1',
    'delete.retention.ms': '0',
  });
  // A segment each, by their times; the cleaner leaves the last one alone.
  const DAY = 86_400_000;
  const keys = ['a', 'b', 'b', 'b', 'b', 'a', 'c'];
  for (const [n, key] of keys.entries())
    await on.send(topic, [{ key, value: `${n}`, timestamp: String(Date.now() - (10 - n) * DAY) }]);
  return topic;
}

/** A fetch brings a few of these at a time. */
const BIG = 'x'.repeat(200_000);

test.each([
  ['a part of the span', 9, ['0:10', '0:11', '0:9'], 1],
  ['all of the rest', 12, [], 2],
])(
  'retention passes the start while it is read and takes %s: said, with the offsets',
  async (_, low, tail, notes) => {
    const topic = await on.topic(1, { 'max.message.bytes': '1000000' });
    for (let n = 0; n < 12; n++) await on.send(topic, [{ value: BIG }]);
    const result = await read(topic, [{ partition: 0, from: 0n, to: 12n }], async (offset) => {
      if (offset === 0) await on.deleteBelow(topic, 0, low);
    });
    expect(result.offsets).toEqual(expect.arrayContaining(['0:0', ...tail]));
    // The client had only what came with the first fetch.
    expect(result.offsets.length).toBeLessThan(9 + tail.length);
    expect(result.notes).toHaveLength(notes);
    expect(result.notes.at(-1)).toContain(
      `offsets 0 to ${low - 1} were deleted meanwhile; some were not read`,
    );
  },
);

test('partitions that were added since are read too, and do not disturb a span from before', async () => {
  const topic = await on.topic(1);
  await on.fill(topic, 3);
  const { spans: before } = await resolveSpans(admin, topic, {});
  await on.admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
  await until(async () => expect(await admin.watermarks(topic)).toHaveLength(3));
  // A client that has seen the topic before does not know the new partitions yet.
  const later = new TestKafka();
  await later.open();
  await later.fill(topic, 2, 2);
  await later.close();
  expect(await read(topic, before)).toEqual({ offsets: ['0:0', '0:1', '0:2'], notes: [] });
  const { spans, notes } = await resolveSpans(admin, topic, {});
  expect(notes).toEqual([`${topic}[1] holds no record`]);
  expect(await read(topic, spans)).toEqual({ offsets: ['0:0', '0:1', '0:2', '2:0', '2:1'], notes: [] });
});

test('a topic that was made anew with fewer partitions: the span of one that is gone is said', async () => {
  const topic = await on.topic(1);
  await on.fill(topic, 2);
  const before = [
    { partition: 0, from: 0n, to: 2n },
    { partition: 4, from: 7n, to: 9n },
  ];
  expect(await read(topic, before)).toEqual({
    offsets: ['0:0', '0:1'],
    notes: [`${topic}[4] is not there any more: offsets from 7 on were not read`],
  });
});

test('a compacted topic: what a later record replaced gives no record, and the span still ends', async () => {
  let compacted: Awaited<ReturnType<typeof read>>;
  await until(async () => {
    compacted = await read(compactedTopic, [{ partition: 0, from: 0n, to: 7n }]);
    expect(compacted.offsets).toEqual(['0:4', '0:5', '0:6']);
  }, 90_000);
  expect(compacted!.notes).toEqual([]);
  // All of this span is gone; the records behind it are there, and are not part of it.
  expect(await read(compactedTopic, [{ partition: 0, from: 0n, to: 4n }])).toEqual({
    offsets: [],
    notes: [],
  });
});
