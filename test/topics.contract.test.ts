/** The published contract says what the decoder does. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { contractFiles } from '../bridge/topics/contract';
import { TOPIC_NAMES, TOPICS, type TopicName } from '../bridge/topics';
import { decode, record, reasonOf, sale } from './topics.records';

describe('the published contract', () => {
  const directory = join(__dirname, '../contract');
  const contractOf = (name: TopicName) =>
    JSON.parse(readFileSync(join(directory, `${name}.schema.json`), 'utf8')) as {
      title: string;
      examples: unknown[];
    };

  test('is what the definitions say; if this fails, run npm run contract', () => {
    const files = contractFiles();
    expect(readdirSync(directory).sort()).toEqual(files.map(({ file }) => file).sort());
    for (const { file, text } of files) expect(readFileSync(join(directory, file), 'utf8')).toBe(text);
  });

  test.each(TOPIC_NAMES)('%s: its examples keep to it, and become commands', (name) => {
    const { title, examples, ...schema } = contractOf(name);
    const published = z.fromJSONSchema(schema);
    expect(title).toBe(name);
    expect(examples).toEqual(TOPICS[name].examples);
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      expect(published.safeParse(example)).toMatchObject({ success: true });
      expect(decode(record(name, example)).became).not.toBe('dead-letter');
    }
    expect(published.safeParse({}).success).toBe(false);
  });

  test('knows a variant by each name of its columns, flattened too', () => {
    const published = z.fromJSONSchema(contractOf('PRODUCT_VARIANT'));
    const row = { _id: 5, merchant_id: 'm' };
    for (const event of [
      { op: 'c', after: row },
      { schema: {}, payload: { op: 'r', after: row } },
      { ...row, __op: 'u' },
    ]) {
      expect(published.safeParse(event).success).toBe(true);
      expect(decode(record('PRODUCT_VARIANT', event)).became).toBe('command');
    }
    expect(published.safeParse({ op: 'c', after: { _id: 5 } }).success).toBe(false);
    expect(published.safeParse(row).success).toBe(false);
  });

  test('refuses what the decoder refuses, as far as JSON Schema can say it', () => {
    const published = z.fromJSONSchema(contractOf('PAYMENT_SUCCESS'));
    for (const quantity of ['0', '0.0', '-1', '01', '1,5', '', 'NaN', 0, -1, 1e15, null, true]) {
      expect([quantity, published.safeParse(sale({ quantity })).success]).toEqual([quantity, false]);
      expect(reasonOf('PAYMENT_SUCCESS', sale({ quantity }))).toMatch(/^lines\[0\]\.quantity: /);
    }
    for (const quantity of ['1', '0.5', '1E+2', '2.50', 0.25]) {
      expect(published.safeParse(sale({ quantity })).success).toBe(true);
      expect(decode(record('PAYMENT_SUCCESS', sale({ quantity }))).became).toBe('command');
    }
  });
});
