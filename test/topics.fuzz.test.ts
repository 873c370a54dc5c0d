/** Whatever bytes arrive: exactly one of command, ignored and dead letter, and no crash. */
import fc from 'fast-check';
import { decode, record, judged, onEveryTopic, examples, anyExample } from './topics.judged';

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
