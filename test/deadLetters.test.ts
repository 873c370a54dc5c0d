/** Dead letters are listed by reason, shown as they are, and settled once: retried byte for byte, edited, discarded. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Partitioners } from 'kafkajs';
import { groupOf, readLetters, type Letter } from '../bridge/deadLetterRead';
import { createSystem, type System } from './system';

jest.setTimeout(240_000);
let system: System;
let folder: string;
let payments: string;
const binary = Buffer.from([0xff, 0x00, 0x0a, 0x7b]);

beforeAll(async () => {
  system = await createSystem(2);
  folder = mkdtempSync(join(tmpdir(), 'letters-'));
  payments = system.config.KAFKA_TOPIC_PAYMENT_SUCCESS;
  await system.database.stock('A', '10');
  const producer = system.kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  const headers = { traceparent: 'x', twice: ['1', '2'] };
  await producer.send({
    topic: payments,
    messages: [
      { partition: 1, key: 'k1', value: order(1, '0'), headers, timestamp: '1764547200000' },
      { partition: 1, value: order(2, '-3') },
      { partition: 1, value: binary },
      { partition: 1, value: 'line\u001b[31mred' },
    ],
  });
  await producer.disconnect();
  await system.start('run');
  while ((await letters()).length < 4) await new Promise((resolve) => setTimeout(resolve, 200));
});
afterAll(async () => {
  await system.close();
  rmSync(folder, { recursive: true });
});

const order = (n: number, quantity: string) =>
  JSON.stringify({
    saleOrderId: `SO-${n}-${system.name}`,
    paidAt: '2026-11-01T12:00:00Z',
    lines: [{ stockId: 'A', quantity }],
  });
const signed = ['--actor', 'ana', '--reason', 'till fixed'];

async function letters(): Promise<Letter[]> {
  const found: Letter[] = [];
  await readLetters(system.kafka, system.config.KAFKA_TOPIC_DEAD_LETTERS, {}, (read) =>
    Promise.resolve(void found.push(...read)),
  );
  return found.sort((a, b) => Number(a.record.offset) - Number(b.record.offset) || a.deaths - b.deaths);
}

async function listed(...args: string[]) {
  const { code, out } = await system.cli('dead-letters', 'list', '--json', ...args);
  const {
    total,
    letters: list,
    groups,
  } = JSON.parse(out) as {
    total: number;
    letters: { id: string; state: string }[];
    groups: { count: number }[];
  };
  return {
    code,
    total,
    ids: list.map(({ id }) => id).sort(),
    groups: groups.map(({ count }) => count).sort(),
  };
}

test('list, show, retry, edit and discard: nothing is open twice', async () => {
  const [zero, negative, bytes, text] = (await letters()) as [Letter, Letter, Letter, Letter];
  expect(await listed()).toMatchObject({ code: 1, total: 4 });
  // A quantity of 0 and one of -3 die of the same thing.
  expect(groupOf(zero)).toBe(groupOf(negative));
  expect((await listed('--matching', 'quantity')).ids).toEqual([zero.id, negative.id].sort());

  const shown = await system.cli('dead-letters', 'show', bytes.id);
  expect(shown.out).toContain('ff 00 0a 7b');
  expect((await system.cli('dead-letters', 'show', text.id)).out).not.toContain('\u001b');
  const { out } = await system.cli('dead-letters', 'show', zero.id, '--json');
  expect(JSON.parse(out)).toMatchObject({
    state: 'open',
    deaths: 1,
    keyBase64: Buffer.from('k1').toString('base64'),
  });

  // Still at fault: not sent round in a circle.
  const refused = await system.cli('dead-letters', 'retry', zero.id, ...signed);
  expect([refused.code, refused.out]).toEqual([1, expect.stringContaining('still at fault')]);

  // An edited copy is a new message that names the original, and goes the way of every event.
  const file = join(folder, 'edited.json');
  writeFileSync(file, order(1, '4'));
  const edited = await system.cli('dead-letters', 'retry', zero.id, '--edit', file, ...signed);
  expect([edited.code, edited.out]).toEqual([0, expect.stringContaining('edited, now')]);
  while ((await system.database.onHand('A')) !== '6')
    await new Promise((resolve) => setTimeout(resolve, 100));

  // The original bytes, sent although nothing is mended: they die again, as a letter of their own.
  expect((await system.cli('dead-letters', 'retry', negative.id, '--force', ...signed)).code).toBe(0);
  while ((await letters()).length < 5) await new Promise((resolve) => setTimeout(resolve, 200));
  const again = (await letters()).find(({ deaths }) => deaths === 2)!;
  expect(again.record.value).toEqual(negative.record.value);
  expect(again.record.partition).toBe(1);

  expect((await system.cli('dead-letters', 'discard', bytes.id, ...signed)).code).toBe(0);
  expect(await listed()).toMatchObject({ total: 2, ids: [text.id, again.id].sort() });
  expect((await listed('--state', 'discarded')).ids).toEqual([bytes.id]);
  expect((await listed('--state', 'retried')).ids).toEqual([zero.id, negative.id].sort());

  // Settled once: neither is done again.
  const late = await system.cli('dead-letters', 'retry', bytes.id, '--force', ...signed);
  expect([late.code, late.out]).toEqual([1, expect.stringContaining('settled-before')]);
  expect((await system.cli('dead-letters', 'discard', '--all', ...signed)).code).toBe(0);
  expect(await listed()).toMatchObject({ code: 0, total: 0 });
});

test('a retried record is what it was: key, value, headers, time, partition', async () => {
  const found = new Map<string, { key: Buffer | null; timestamp: string; headers: unknown }>();
  const consumer = system.kafka.consumer({ groupId: `look-${system.name}` });
  await consumer.connect();
  await consumer.subscribe({ topic: payments, fromBeginning: true });
  await consumer.run({
    eachMessage: ({ partition, message }) => {
      found.set(`${partition}.${message.offset}`, message as never);
      return Promise.resolve();
    },
  });
  while (found.size < 6) await new Promise((resolve) => setTimeout(resolve, 100));
  await consumer.disconnect();
  const copy = found.get('1.4')!;
  expect(copy).toMatchObject({ key: Buffer.from('k1'), timestamp: '1764547200000' });
  expect(copy.headers).toMatchObject({
    traceparent: Buffer.from('x'),
    twice: [Buffer.from('1'), Buffer.from('2')],
  });
  expect(String((copy.headers as Record<string, Buffer>)['inventory.dead-letter.edited-from'])).toContain(
    '.dead-letters/',
  );
});

test.each<[string, string[], string]>([
  ['no letter and not all', ['retry'], 'name letters, or say --all'],
  ['what is no ID', ['discard', 'x'], 'an ID looks like 0:42'],
  ['a letter that is not there', ['discard', '0:999'], 'not all of these letters exist'],
])('%s is refused', async (_, args, message) => {
  const { code, err } = await system.cli('dead-letters', ...args, ...signed);
  expect([code, err]).toEqual([2, expect.stringContaining(message)]);
});
