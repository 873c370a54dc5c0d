/** No size and no depth makes the decoder hang, crash or grow. */
import { TOPIC_NAMES, type Decoded, type KafkaRecord } from '../bridge/topics';
import { decode, record, judged, onEveryTopic } from './topics.judged';

describe('no size makes it hang or grow', () => {
  /** Far above what the work takes on a busy machine, far below what quadratic work would. */
  const LIMIT_MS = 5_000;
  const nested = (open: string, close: string, depth: number) =>
    `${open.repeat(depth)}1${close.repeat(depth)}`;
  const oneSale = (extra: string) =>
    `{"saleOrderId":"a","lines":[{"stockId":"S","quantity":"1"}],"extra":${extra}}`;
  const huge: [string, string][] = [
    ['lists 10,000 deep', oneSale(nested('[', ']', 10_000))],
    ['objects 10,000 deep', oneSale(nested('{"a":', '}', 10_000))],
    ['a million opening brackets', '['.repeat(1_000_000)],
    [
      '20,000 lines',
      JSON.stringify({
        saleOrderId: 'a',
        transferId: 'a',
        lines: Array(20_000).fill({ stockId: 'S', quantity: '1' }),
      }),
    ],
    [
      '20,000 faulty lines',
      JSON.stringify({ saleOrderId: 'a', transferId: 'a', lines: Array(20_000).fill(0) }),
    ],
    ['an ID of 3 MB', `{"saleOrderId":"${'x'.repeat(3_000_000)}","transferId":"","lines":[]}`],
    [
      'a quantity of a million digits',
      `{"saleOrderId":"a","lines":[{"stockId":"S","quantity":${'9'.repeat(1_000_000)}}]}`,
    ],
    ['a field name of 3 MB given twice', `{"${'k'.repeat(3_000_000)}":1,"${'k'.repeat(3_000_000)}":2}`],
    [
      'a hundred thousand fields',
      `{${Array.from({ length: 100_000 }, (_, i) => `"${i}":1`).join()},"op":"x"}`,
    ],
    [
      'a decimal of 1 MB',
      JSON.stringify({
        schema: {
          fields: [
            {
              field: 'after',
              fields: [
                { field: 'id', name: 'org.apache.kafka.connect.data.Decimal', parameters: { scale: '0' } },
              ],
            },
          ],
        },
        payload: { op: 'c', after: { id: 'AAAA'.repeat(250_000) } },
      }),
    ],
    [
      'a document 10,000 deep inside a string',
      JSON.stringify({ op: 'c', after: nested('{"_id":', '}', 10_000) }),
    ],
  ];

  test.each(huge)('%s', (_, text) => {
    const started = performance.now();
    const decoded = onEveryTopic(text);
    expect(decoded.every(({ became }) => became !== 'command')).toBe(true);
    expect(performance.now() - started).toBeLessThan(LIMIT_MS * TOPIC_NAMES.length);
  });

  test('with the limit set, nothing above it is even read', () => {
    const started = performance.now();
    for (const topic of TOPIC_NAMES) {
      const huge = Buffer.alloc(3_000_000, '[');
      expect(judged(decode(record(topic, huge)))).toMatchObject({
        became: 'dead-letter',
        reason: expect.stringContaining('3000000 bytes'),
      });
      expect(judged(decode(record(topic, '{}', huge)))).toMatchObject({
        became: 'dead-letter',
        reason: expect.stringMatching(/^key: /),
      });
    }
    expect(performance.now() - started).toBeLessThan(LIMIT_MS);
  });

  test('nesting is accepted up to a fixed depth, however full the stack is', () => {
    const shallow = record('PAYMENT_SUCCESS', oneSale(nested('[', ']', 127)));
    const deep = record('PAYMENT_SUCCESS', oneSale(nested('[', ']', 128)));
    const atDepth = (frames: number, value: KafkaRecord): Decoded =>
      frames === 0 ? decode(value) : atDepth(frames - 1, value);
    for (const frames of [0, 3_000]) {
      expect(atDepth(frames, shallow).became).toBe('command');
      expect(atDepth(frames, deep)).toMatchObject({
        reason: 'value: nested 129 levels deep, more than 128; send a flatter event',
      });
    }
  });

  test('thousands of records leave no memory behind', () => {
    const text = JSON.stringify({
      saleOrderId: 'a',
      lines: Array(200).fill({ stockId: 'S', quantity: '1' }),
    });
    const run = (times: number) => {
      for (let i = 0; i < times; i++) decode(record('PAYMENT_SUCCESS', i % 2 === 0 ? text : text.slice(1)));
    };
    run(500);
    const before = process.memoryUsage().heapUsed;
    run(1_500);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * 1024 * 1024);
  });
});
