/** A replay reads exactly its spans, says where they are not what one may think, and touches no live offset. */
import type { KafkaRecord } from '../bridge/records';
import { openAdmin, type KafkaAdmin } from '../bridge/kafka';
import { readSpans } from '../bridge/replayRead';
import { resolveSpans, SpanError, spanSize, type Wish } from '../bridge/replaySpans';
import { TestKafka } from './bridgeOnKafka';

const on = new TestKafka();
let admin: KafkaAdmin;
beforeAll(async () => {
  await on.open();
  admin = await openAdmin(on.kafka);
});
afterAll(async () => {
  await admin.close();
  await on.close();
});

const DAY = Date.parse('2026-11-01T00:00:00Z');
const at = (minute: number) => DAY + minute * 60_000;

/** Partition p holds offsets 0 to 9, minute by minute; partition 2 is empty. */
async function filled(): Promise<string> {
  const topic = await on.topic(3);
  for (const partition of [0, 1]) {
    const messages = Array.from({ length: 10 }, (_, i) => ({
      value: `${partition}.${i}`,
      timestamp: String(at(i)),
    }));
    await on.send(topic, messages, partition);
  }
  return topic;
}

async function read(topic: string, wish: Wish, more: Partial<Parameters<typeof readSpans>[0]> = {}) {
  const { spans, notes } = await resolveSpans(admin, topic, wish);
  const values: string[] = [];
  const onRecords = (records: KafkaRecord[]) => {
    values.push(...records.map((record) => String(record.value)));
    return Promise.resolve();
  };
  const result = await readSpans({ kafka: on.kafka, topic, spans, onRecords, ...more });
  return {
    values: values.sort(),
    notes: [...notes, ...result.notes],
    size: spanSize(spans),
    records: result.records,
  };
}

test('times: from the first record of that time up to, not including, the other; live offsets stay', async () => {
  const topic = await filled();
  await on.setOffsets('live-' + topic, topic, [3, 4, 0]);
  const consumers = jest.spyOn(on.kafka, 'consumer');
  const { values, notes, size, records } = await read(topic, { fromMs: at(2), toMs: at(5) });
  expect(values).toEqual(['0.2', '0.3', '0.4', '1.2', '1.3', '1.4']);
  expect([size, records]).toEqual([6, 6]);
  expect(notes).toEqual([`${topic}[2] holds no record`]);
  expect(await on.committed('live-' + topic, topic)).toEqual([3, 4, 0]);
  // Its own group is gone again; other test files have groups on the same servers meanwhile.
  const own = consumers.mock.calls.map(([settings]) => settings.groupId);
  expect(own).toEqual([expect.stringMatching(/^inventory-replay-/)]);
  expect((await on.admin.listGroups()).groups.map(({ groupId }) => groupId)).not.toContain(own[0]);
  consumers.mockRestore();
});

test('offsets of one partition, in chunks, in order', async () => {
  const topic = await filled();
  const chunks: number[] = [];
  const { spans } = await resolveSpans(admin, topic, { partition: 1, offsets: { from: 2n, to: 9n } });
  const onRecords = (records: KafkaRecord[]) =>
    Promise.resolve(void chunks.push(...records.map((r) => Number(r.offset)), -1));
  await readSpans({ kafka: on.kafka, topic, spans, chunk: 3, onRecords });
  expect(chunks).toEqual([2, 3, 4, -1, 5, 6, 7, -1, 8, -1]);
});

test('odd spans are said', async () => {
  const topic = await filled();
  const after = await read(topic, { fromMs: at(100) });
  expect(after).toMatchObject({ values: [], records: 0 });
  expect(after.notes[0]).toContain('has nothing in this span (it holds offsets 0 to 9)');
  const future = await read(topic, { fromMs: at(8), toMs: Date.now() + 3_600_000 });
  expect(future.values).toEqual(['0.8', '0.9', '1.8', '1.9']);
  expect(future.notes[0]).toContain('in the future');
  const beyond = await read(topic, { partition: 0, offsets: { from: 8n, to: 50n } });
  expect(beyond.values).toEqual(['0.8', '0.9']);
  expect(beyond.notes[0]).toContain('ends at offset 9');
  await on.deleteBelow(topic, 0, 4);
  const gone = await read(topic, { partition: 0, offsets: { from: 2n, to: 6n } });
  expect(gone.values).toEqual(['0.4', '0.5']);
  expect(gone.notes[0]).toContain('before offset 4 are gone');
  expect((await read(topic, { fromMs: at(0), toMs: at(6) })).notes).toContainEqual(
    expect.stringContaining('before offset 4 are gone; some may have been of this span'),
  );
});

test.each<[string, Wish, string]>([
  ['a partition that is not there', { partition: 7 }, 'has no partition 7; it has 0, 1, 2'],
  ['an end before the beginning', { fromMs: at(5), toMs: at(5) }, 'later than --from'],
  ['offsets without a partition', { offsets: { from: 0n, to: 1n } }, 'need a partition'],
  ['offsets the wrong way round', { partition: 0, offsets: { from: 5n, to: 5n } }, 'the end comes first'],
])('%s is refused', async (_, wish, message) => {
  const topic = await filled();
  await expect(resolveSpans(admin, topic, wish)).rejects.toThrow(SpanError);
  await expect(resolveSpans(admin, topic, wish)).rejects.toThrow(message);
});

test('a topic that is not there is refused, and not created', async () => {
  await expect(resolveSpans(admin, 'nowhere', {})).rejects.toThrow('no topic nowhere');
  expect(await admin.topics()).not.toContain('nowhere');
});

test('markers of transactions and aborted records at the end of a span do not hold it up', async () => {
  const topic = await on.topic();
  const producer = on.kafka.producer({ transactionalId: topic, maxInFlightRequests: 1, idempotent: true });
  await producer.connect();
  for (const [value, commit] of [
    ['kept', true],
    ['aborted', false],
  ] as const) {
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: [{ value }] });
    await (commit ? transaction.commit() : transaction.abort());
  }
  const started = Date.now();
  expect(await read(topic, {})).toMatchObject({ values: ['kept'], notes: [], size: 4, records: 1 });
  expect(Date.now() - started).toBeLessThan(8_000);

  const open = await producer.transaction();
  await open.send({ topic, messages: [{ value: 'open' }] });
  // What is not committed is not there yet: it is no part of the span.
  expect(await read(topic, {})).toMatchObject({ values: ['kept'], notes: [] });
  const spans = [{ partition: 0, from: 0n, to: 5n }];
  const { notes } = await readSpans({
    kafka: on.kafka,
    topic,
    spans,
    idleMs: 1_500,
    onRecords: () => Promise.resolve(),
  });
  expect(notes).toEqual([expect.stringMatching(/offsets 4 to 4 gave no record: .*still open/)]);
  await open.abort();
  await producer.disconnect();
});

test('a failure while records are handled ends the reading with it', async () => {
  const topic = await filled();
  const onRecords = () => Promise.reject(new Error('the ledger is away'));
  await expect(read(topic, {}, { onRecords })).rejects.toThrow('the ledger is away');
});
