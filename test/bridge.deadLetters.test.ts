/** Dead letters: nothing of the record is lost, and what cannot be written is not passed. */
import { randomUUID } from 'node:crypto';
import type { KafkaMessage } from 'kafkajs';
import { createDeadLetters, DEAD_LETTER_HEADERS } from '../bridge/deadLetters';
import { metrics } from '../metrics';
import { FakeStarter, metric, TestKafka, until } from './bridgeOnKafka';

const on = new TestKafka();
let groupId = '';
beforeAll(() => on.open());
beforeEach(() => (groupId = `g-${randomUUID()}`));
afterAll(() => on.close());

/** Reads a topic from its beginning until it has `count` records. */
async function read(topic: string, count: number): Promise<KafkaMessage[]> {
  const consumer = on.kafka.consumer({ groupId: `read-${randomUUID()}`, maxWaitTimeInMs: 100 });
  const messages: KafkaMessage[] = [];
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    eachMessage: ({ message }) => {
      messages.push(message);
      return Promise.resolve();
    },
  });
  await until(() => expect(messages.length).toBeGreaterThanOrEqual(count));
  await consumer.disconnect();
  return messages;
}

function text(message: KafkaMessage | undefined, name: string): string[] {
  const value = message?.headers?.[name];
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]).map(String);
}

test('key, value and headers are kept byte for byte, with where it came from and why', async () => {
  const [topic, deadLetterTopic] = [await on.topic(), await on.topic()];
  const binary = Buffer.from([0, 255, 254, 10, 0xed, 0xa0, 0x80]);
  const timestamp = '1714564800000';
  await on.send(topic, [
    {
      key: binary,
      value: Buffer.concat([Buffer.from('x'), binary]),
      timestamp,
      headers: { one: binary, many: ['a', binary, ''] },
    },
    { key: null, value: null, headers: {} },
    { key: '', value: '', headers: { constructor: 'C', toString: ['t1', 't2'], ['__proto__']: 'P' } },
  ]);
  await on.bridge({ topics: [topic], deadLetterTopic, groupId, starter: new FakeStarter() });
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([3]));
  const letters = (await read(deadLetterTopic, 3)).sort((a, b) => {
    return Number(text(a, DEAD_LETTER_HEADERS.offset)[0]) - Number(text(b, DEAD_LETTER_HEADERS.offset)[0]);
  });
  expect(letters[0]?.key?.equals(binary)).toBe(true);
  expect(letters[0]?.value?.equals(Buffer.concat([Buffer.from('x'), binary]))).toBe(true);
  expect(letters[0]?.headers).toMatchObject({
    one: binary,
    many: [Buffer.from('a'), binary, Buffer.alloc(0)],
  });
  expect(text(letters[0], DEAD_LETTER_HEADERS.topic)).toEqual([topic]);
  expect(text(letters[0], DEAD_LETTER_HEADERS.partition)).toEqual(['0']);
  expect(text(letters[0], DEAD_LETTER_HEADERS.offset)).toEqual(['0']);
  expect(text(letters[0], DEAD_LETTER_HEADERS.timestamp)).toEqual([timestamp]);
  expect(text(letters[0], DEAD_LETTER_HEADERS.reason)).toEqual(['not ok']);
  expect(Date.now() - Date.parse(text(letters[0], DEAD_LETTER_HEADERS.at)[0] ?? '')).toBeLessThan(30_000);
  // The letter itself is new: its topic's retention counts from now.
  expect(Date.now() - Number(letters[0]?.timestamp)).toBeLessThan(30_000);

  expect(letters[1]).toMatchObject({ key: null, value: null });
  expect(letters[2]?.key).toEqual(Buffer.alloc(0));
  expect(letters[2]?.value).toEqual(Buffer.alloc(0));
  // Names that mean something to JavaScript are names like any other (the reader puts a built-in in front).
  expect(text(letters[2], 'constructor').at(-1)).toBe('C');
  expect(text(letters[2], 'toString').slice(-2)).toEqual(['t1', 't2']);
  const proto = Object.getOwnPropertyDescriptor(letters[2]?.headers, '__proto__')?.value as unknown[];
  expect(proto.at(-1)).toEqual(Buffer.from('P'));
});

test('a letter that comes back and dies again carries both deaths, oldest first', async () => {
  const [topic, deadLetterTopic] = [await on.topic(), await on.topic()];
  const [first, second] = ['timestamp', 'reason'] as const;
  const headers = {
    [DEAD_LETTER_HEADERS[first]]: '1',
    [DEAD_LETTER_HEADERS[second]]: 'first reason',
    own: 'kept',
  };
  await on.send(topic, [{ value: 'bad', headers }]);
  await on.bridge({ topics: [topic], deadLetterTopic, groupId, starter: new FakeStarter() });
  const [letter] = await read(deadLetterTopic, 1);
  expect(text(letter, DEAD_LETTER_HEADERS.reason)).toEqual(['first reason', 'not ok']);
  expect(text(letter, DEAD_LETTER_HEADERS.timestamp)).toHaveLength(2);
  expect(text(letter, 'own')).toEqual(['kept']);
});

test('a header without a value, which the client cannot write, is empty and named', async () => {
  const [topic, deadLetterTopic] = [await on.topic(), await on.topic()];
  const letters = createDeadLetters(on.kafka, deadLetterTopic);
  const headers = { nothing: null, something: ['a', null] } as unknown as Record<string, string>;
  await letters.write(
    { topic, partition: 0, offset: '7', timestamp: '1', key: null, value: null, headers },
    'why',
  );
  await letters.close();
  const [letter] = await read(deadLetterTopic, 1);
  expect(text(letter, 'nothing')).toEqual(['']);
  expect(text(letter, 'something')).toEqual(['a', '']);
  expect(text(letter, DEAD_LETTER_HEADERS.nullHeaders)).toEqual(['nothing, something']);
});

test('a letter too large for its topic holds the partition back, and goes when the topic takes it', async () => {
  const topic = await on.topic();
  const deadLetterTopic = await on.topic(1, { 'max.message.bytes': '2000' });
  await on.send(topic, [{ value: 'ok 0.0' }, { value: 'bad'.repeat(2_000) }, { value: 'ok 0.2' }]);
  const starter = new FakeStarter();
  const bridge = await on.bridge({ topics: [topic], deadLetterTopic, groupId, starter });
  await until(() =>
    expect(bridge.state().reasons.join()).toMatch(/dead-letter-too-large .*raise max\.message\.bytes/),
  );
  expect(await on.committed(groupId, topic)).toEqual([1]);
  await on.admin.alterConfigs({
    validateOnly: false,
    resources: [
      { type: 2, name: deadLetterTopic, configEntries: [{ name: 'max.message.bytes', value: '1000000' }] },
    ],
  });
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([3]));
  expect((await read(deadLetterTopic, 1)).map((m) => m.value?.length)).toEqual([6_000]);
  await until(() => expect(bridge.state().ready).toBe(true));
  await bridge.drain();
});

test('without its dead-letter topic a partition waits, with the reason, and nothing is dropped', async () => {
  const [topic, deadLetterTopic] = [await on.topic(2), await on.topic()];
  const pauses = await metric(metrics.pauses, { reason: 'dead-letter-topic-unavailable' });
  const starter = new FakeStarter();
  const bridge = await on.bridge({ topics: [topic], deadLetterTopic, groupId, starter });
  await on.admin.deleteTopics({ topics: [deadLetterTopic] });
  await on.send(topic, [{ value: 'skip' }, { value: 'bad' }, { value: 'ok 0.2' }], 0);
  await on.fill(topic, 2, 1);
  await until(() => expect(bridge.state().reasons.join()).toContain('dead-letter-topic-unavailable'));
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([1, 2]));
  expect(await metric(metrics.pauses, { reason: 'dead-letter-topic-unavailable' })).toBeGreaterThan(pauses);
  await on.admin.createTopics({ topics: [{ topic: deadLetterTopic }], waitForLeaders: false });
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([3, 2]));
  expect((await read(deadLetterTopic, 1)).map((m) => m.value?.toString())).toEqual(['bad']);
  await bridge.drain();
});

test('what comes after the end opens no connection that would keep the process', async () => {
  const letters = createDeadLetters(on.kafka, await on.topic());
  const record = { topic: 't', partition: 0, offset: '0', timestamp: '0', key: null, value: null };
  await letters.write(record, 'first');
  await letters.close();
  await expect(letters.write(record, 'late')).rejects.toThrow('the bridge is stopping');
});
