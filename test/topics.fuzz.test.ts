/**
 * Whatever bytes arrive: exactly one of command, ignored and dead letter; no crash, no hang, nothing accepted in
 * silence, reasons bounded and safe to print, and no prototype touched.
 */
import fc from 'fast-check';
import {
  createDecoder,
  IGNORED_REASONS,
  TOPIC_NAMES,
  TOPICS,
  type Decoded,
  type KafkaRecord,
  type TopicName,
} from '../bridge/topics';
import { workflowIdOf } from '../commands';

const topics = Object.fromEntries(TOPIC_NAMES.map((name) => [name, name])) as Record<TopicName, string>;
const settings = { topics, consumingStatuses: ['PREPARING'], maxEventBytes: 262_144 };
const decode = createDecoder(settings);
/** Without the size limit, so that what stands behind it is tried as well. */
const decodeAnySize = createDecoder({ ...settings, maxEventBytes: 64 * 1024 * 1024 });

function record(topic: string, value: Buffer | string | null, key: Buffer | null = null): KafkaRecord {
  return {
    topic,
    partition: 0,
    offset: '7',
    timestamp: '1769860800000',
    key,
    value: value === null ? null : Buffer.from(value),
  };
}

const REASON_LIMIT = 600;
const untouched = Object.getOwnPropertyNames(Object.prototype).join();

/** The promise of this file, for one record. */
function judged(decoded: Decoded): Decoded {
  switch (decoded.became) {
    case 'command':
      expect(workflowIdOf(decoded.command).length).toBeLessThanOrEqual(1_000);
      expect(decoded.command.input.schema).toBe(1);
      if (decoded.command.type === 'moveStock') {
        const { legs, occurredAt } = decoded.command.input;
        expect(new Date(occurredAt).toISOString()).toBe(occurredAt);
        expect(legs.length).toBeGreaterThan(0);
        for (const leg of legs) {
          expect(leg.delta).toMatch(/^-?(0|[1-9]\d{0,14})(\.\d{0,5}[1-9])?$/);
          expect(leg.delta).not.toMatch(/^-?0$/);
          expect(leg.inventoryStockId).toMatch(/^[^\p{Cc}\p{Cs}]{1,120}$/u);
        }
        const ids = legs.map((leg) => leg.inventoryStockId);
        expect(ids).toEqual([...new Set(ids)].sort());
      }
      break;
    case 'ignored':
      expect(IGNORED_REASONS).toContain(decoded.reason);
      break;
    case 'dead-letter':
      expect(decoded.reason.length).toBeLessThan(REASON_LIMIT);
      expect(decoded.reason).toMatch(/^[\w.[\]]+: .+/);
      expect(decoded.reason).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      break;
  }
  expect(Object.getOwnPropertyNames(Object.prototype).join()).toBe(untouched);
  return decoded;
}

const onEveryTopic = (value: Buffer | string | null, key?: Buffer | null) =>
  TOPIC_NAMES.map((topic) => judged(decodeAnySize(record(topic, value, key))));

const isDeadLetter = ({ became }: Decoded) => became === 'dead-letter';
const examples = TOPIC_NAMES.flatMap((topic) =>
  TOPICS[topic].examples.map((example) => ({ topic, text: JSON.stringify(example) })),
);
const anyExample = fc.constantFrom(...examples);

describe('any bytes end as exactly one of command, ignored, dead letter', () => {
  test('random bytes and random text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 300 }),
          fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
        ),
        (bytes) => {
          onEveryTopic(Buffer.from(bytes), Buffer.from(bytes));
        },
      ),
      { numRuns: 300 },
    );
  });

  test('any JSON, and events with any JSON in any field', () => {
    const hostile = fc.oneof(
      fc.json(),
      fc.constantFrom(
        '-0',
        '1e400',
        '-1E-400',
        '9007199254740993',
        '1e999999999',
        '1e-999999999',
        '""',
        '"NaN"',
        '{"$where":"1"}',
        '"\\ud800"',
        '"__debezium_unavailable_value"',
        '{"$numberDecimal":"1E+6000"}',
        '"{\\"_id\\":{\\"$date\\":1e999}}"',
      ),
    );
    const fields = fc.constantFrom(
      'saleOrderId',
      'paidAt',
      'lines',
      'status',
      'materials',
      'transferId',
      'op',
      'after',
      'payload',
      'schema',
      'id',
      '_id',
      '__op',
      '__proto__',
      'constructor',
      'source',
      'updateDescription',
    );
    fc.assert(
      fc.property(anyExample, fields, hostile, hostile, ({ text }, field, value, key) => {
        onEveryTopic(value);
        onEveryTopic(`{${JSON.stringify(field)}:${value},${text.slice(1)}`, Buffer.from(key));
        onEveryTopic(`${text.slice(0, -1)},${JSON.stringify(field)}:${value}}`);
        onEveryTopic(text.replace(/"(2|5|24|STK-1|cafe-luna|espresso)"/, () => value));
      }),
      { numRuns: 100 },
    );
  });

  test('an event with one byte changed, inserted or lost still ends as exactly one of the three', () => {
    fc.assert(
      fc.property(
        anyExample,
        fc.nat(),
        fc.integer({ min: 0, max: 255 }),
        fc.constantFrom(0, 1),
        fc.constantFrom(0, 1),
        (example, at, byte, drop, insert) => {
          const bytes = Buffer.from(example.text);
          const index = at % bytes.length;
          const changed = Buffer.concat([
            bytes.subarray(0, index),
            Buffer.alloc(insert, byte),
            bytes.subarray(index + drop),
          ]);
          judged(decode(record(example.topic, changed)));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('every cut of every event is a dead letter', () => {
    for (const { topic, text } of examples) {
      for (let length = 0; length < text.length; length++) {
        expect(judged(decode(record(topic, text.slice(0, length))))).toMatchObject({ became: 'dead-letter' });
      }
    }
  });

  test('null key and null value, repeated and missing headers', () => {
    expect(onEveryTopic(null, null).map(({ became }) => became)).toEqual([
      ...Array<string>(4).fill('dead-letter'),
      'ignored',
      'ignored',
    ]);
    const headers = { a: [Buffer.from('1'), '2'], b: undefined, c: Buffer.alloc(0) };
    for (const { topic, text } of examples) {
      expect(decode({ ...record(topic, text), headers })).toEqual(decode(record(topic, text)));
    }
  });
});

describe('what is not exact is never accepted in silence', () => {
  const sale = (quantity: string, id = '"SO"') =>
    `{"saleOrderId":${id},"lines":[{"stockId":"S","quantity":${quantity}}]}`;

  test.each([
    'NaN',
    'Infinity',
    '-0',
    '0',
    '-0.0',
    '1e400',
    '1e-400',
    '1e999999999',
    '9007199254740993',
    '0x10',
    '+1',
    '.5',
    '5.',
    '1_000',
    '٣',
  ])('quantity %s', (quantity) => {
    expect(judged(decode(record('PAYMENT_SUCCESS', sale(quantity)))).became).toBe('dead-letter');
    expect(judged(decode(record('PAYMENT_SUCCESS', sale(JSON.stringify(quantity))))).became).toBe(
      'dead-letter',
    );
  });

  test.each(
    [
      '-0',
      '1.0',
      '1e3',
      '9007199254740993',
      '-9007199254740993',
      'true',
      'null',
      '[]',
      '{}',
      '{"$gt":""}',
      '"\\u0000"',
      '"\\ud83d"',
      JSON.stringify('x'.repeat(10_240)),
      JSON.stringify('é'.repeat(61)),
    ].map((id) => [id.slice(0, 30), id] as const),
  )('ID %s', (_, id) => {
    expect(judged(decode(record('PAYMENT_SUCCESS', sale('1', id)))).became).toBe('dead-letter');
  });

  test('a field given twice, with equal values too, in any object', () => {
    const twice = [
      '{"saleOrderId":"a","saleOrderId":"b","lines":[]}',
      '{"saleOrderId":"a","saleOrderId":"a","lines":[]}',
      '{"saleOrderId":"a","lines":[{"stockId":"S","quantity":"1","quantity":"1.0"}]}',
      '{"saleOrderId":"a","lines":[],"lines":{}}',
      '{"saleOrderId":"a","lines":[],"x":{"__proto__":1,"__proto__":1}}',
      '{"saleOrderId":"a","lines":[],"sale\\u004frderId":"a"}',
    ];
    for (const text of twice)
      expect(judged(decode(record('PAYMENT_SUCCESS', text))).became).toBe('dead-letter');
  });

  test('an event is only what it owns: nothing is inherited from __proto__ or constructor', () => {
    const inherited = [
      '{"__proto__":{"saleOrderId":"a","lines":[{"stockId":"S","quantity":"1"}]}}',
      '{"constructor":{"prototype":{"lines":[]}}}',
    ];
    for (const text of inherited)
      expect(judged(decode(record('PAYMENT_SUCCESS', text)))).toMatchObject({
        became: 'dead-letter',
        reason: expect.stringContaining('saleOrderId: missing'),
      });
    for (const topic of ['MERCHANT', 'PRODUCT_VARIANT']) {
      expect(
        isDeadLetter(
          judged(decode(record(topic, '{"op":"c","after":{"__proto__":{"id":"a","merchantId":"b"}}}'))),
        ),
      ).toBe(true);
    }
    expect(decode(record('PAYMENT_SUCCESS', sale('1', '"__proto__"')))).toMatchObject({
      command: { input: { referenceId: '__proto__' } },
    });
  });

  test('one UTF-8 byte order mark changes nothing; other encodings are refused', () => {
    const [bom, text] = [Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(sale('1'))];
    expect(decode(record('PAYMENT_SUCCESS', Buffer.concat([bom, text])))).toEqual(
      decode(record('PAYMENT_SUCCESS', text)),
    );
    const refused = [
      Buffer.concat([bom, bom, text]),
      Buffer.from(`\ufeff${sale('1')}`, 'utf16le'),
      Buffer.from(sale('1', '"caf\xe9"'), 'latin1'),
      Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
      Buffer.from([0xc0, 0x80]),
    ];
    for (const bytes of refused) expect(onEveryTopic(bytes).every(isDeadLetter)).toBe(true);
  });
});

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

test('no reason carries a line break, a hidden character or ten kilobytes out of an event', () => {
  const nasty = [
    'a\nb',
    '\u202Egnp.exe',
    '\u2028',
    '\u0000',
    'x'.repeat(10_240),
    '\u{e0001}',
    '"\\"',
    '\u200b',
  ];
  for (const text of nasty) {
    for (const name of ['saleOrderId', 'op', 'id', 'status', 'transferId', 'purchaseOrderId', 'extra']) {
      onEveryTopic(JSON.stringify({ [name]: [text], lines: text, materials: text, after: text }));
      onEveryTopic(`{${JSON.stringify(text)}:1,${JSON.stringify(text)}:2}`);
      onEveryTopic(`{"${name}":"a" ${text} }`);
    }
  }
});
