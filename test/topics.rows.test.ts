/** Every encoding of a row is undone by its schema, or not at all. */
import { decodeStruct, fieldSchema } from '../bridge/topics/connectSchema';
import { ExactNumber } from '../bridge/topics/exactNumber';
import { decodeExtendedJson } from '../bridge/topics/extendedJson';
import { parseText, type JsonObject } from '../bridge/topics/json';
import { Undecodable } from '../bridge/topics/rowValue';
import {
  onMerchants,
  ensuresMerchant,
  refusal,
  postgres,
  mongo,
  wrapped,
  decimalColumn,
} from './topics.debeziumRecords';

describe('one ID has one text, in every form a connector writes it', () => {
  test.each([
    ['"m"', 'm'],
    ['1004', '1004'],
    ['1004.0', '1004'],
    ['{"$numberInt": "1004"}', '1004'],
    ['{"$numberLong": "9223372036854775807"}', '9223372036854775807'],
    ['{"$numberDouble": "1004.0"}', '1004'],
    ['{"$numberDecimal": "1004"}', '1004'],
    ['{"$oid": "596e275826f08b2730779e1f"}', '596e275826f08b2730779e1f'],
    ['{"$uuid": "4D8ED7AA-3F1C-4B6D-9B3B-0A1B2C3D4E5F"}', '4d8ed7aa-3f1c-4b6d-9b3b-0a1b2c3d4e5f'],
    [
      '{"$binary": {"base64": "TY7Xqj8cS22bOwobLD1OXw==", "subType": "04"}}',
      '4d8ed7aa-3f1c-4b6d-9b3b-0a1b2c3d4e5f',
    ],
    ['{"$binary": "TY7Xqj8cS22bOwobLD1OXw==", "$type": "04"}', '4d8ed7aa-3f1c-4b6d-9b3b-0a1b2c3d4e5f'],
  ])('MongoDB %s', (id, text) => {
    expect(onMerchants(mongo('c', `{"_id": ${id}}`))).toEqual(ensuresMerchant(text));
  });

  test.each([
    '12.34',
    '-0.0',
    '{"$numberDouble": "NaN"}',
    '{"a": 1}',
    '[1]',
    'null',
    '""',
    '{"$binary": "a2Fma2E=", "$type": "00"}',
    '{"$ne": 1}',
    '1e999999999',
  ])('MongoDB %s is refused', (id) => {
    expect(refusal(onMerchants(mongo('c', `{"_id": ${id}}`)))).toMatch(
      /^_id: .*; send the merchant's primary key$/,
    );
  });

  test('numeric keys by their schema: fixed scale, varying scale, or written plainly', () => {
    const variable = { type: 'struct', name: 'io.debezium.data.VariableScaleDecimal', field: 'id' };
    expect(onMerchants(wrapped(postgres('c', { id: 'BQ==' }), decimalColumn('id', '0')))).toEqual(
      ensuresMerchant('5'),
    );
    expect(onMerchants(wrapped(postgres('c', { id: 'AfQ=' }), decimalColumn('id', '2')))).toEqual(
      ensuresMerchant('5'),
    );
    expect(onMerchants(wrapped(postgres('c', { id: { scale: 0, value: 'AQAB' } }), variable))).toEqual(
      ensuresMerchant('65537'),
    );
    expect(onMerchants(wrapped(postgres('c', { id: 5 }), decimalColumn('id', '0')))).toEqual(
      ensuresMerchant('5'),
    );
  });

  test('a 64-bit key arrives exact, as JSON number too', () => {
    expect(onMerchants('{"op":"c","after":{"id":9223372036854775807}}')).toEqual(
      ensuresMerchant('9223372036854775807'),
    );
  });

  test('base64 is never guessed to be a number, nor taken for an ID where it seems to be one', () => {
    expect(refusal(onMerchants(postgres('c', { id: 'BQ==' })))).toMatch(
      /^id: "BQ==" looks like a decimal whose schema is missing; set/,
    );
    expect(
      refusal(onMerchants(wrapped(postgres('c', { id: 'BQ==' }), { type: 'bytes', field: 'id' }))),
    ).toMatch(/^id: bytes that are no decimal/);
    expect(
      refusal(
        onMerchants(wrapped(postgres('c', { id: 'BQ==' }), { ...decimalColumn('id', ''), parameters: {} })),
      ),
    ).toMatch(/^id: a decimal without its scale/);
    // By its schema it is text, so it is the ID.
    expect(onMerchants(wrapped(postgres('c', { id: 'BQ==' }), { type: 'string', field: 'id' }))).toEqual(
      ensuresMerchant('BQ=='),
    );
  });
});

describe('rows are decoded by their schema', () => {
  const decoded = (column: object, value: string) => {
    const schema = parseText(JSON.stringify({ fields: [{ ...column, field: 'x' }] }), 'schema');
    return decodeStruct(schema, parseText(`{"x": ${value}}`, 'row') as JsonObject).get('x');
  };
  const time = (name: string) => ({ type: 'int64', name: `io.debezium.time.${name}` });

  test.each([
    [time('Timestamp'), '1769860800123', '2026-01-31T12:00:00.123Z'],
    [time('MicroTimestamp'), '1769860800123456', '2026-01-31T12:00:00.123456Z'],
    [time('NanoTimestamp'), '1769860800123456789', '2026-01-31T12:00:00.123456789Z'],
    [time('MicroTimestamp'), '-1', '1969-12-31T23:59:59.999999Z'],
    [{ name: 'org.apache.kafka.connect.data.Timestamp' }, '1769860800123', '2026-01-31T12:00:00.123Z'],
    [time('Date'), '20484', '2026-01-31'],
    [time('Time'), '43200001', '12:00:00.001'],
    [time('MicroTime'), '43200000001', '12:00:00.000001'],
    [time('NanoTime'), '43200000000001', '12:00:00.000000001'],
    [time('ZonedTimestamp'), '"2026-01-31T12:00:00Z"', '2026-01-31T12:00:00Z'],
    [decimalColumn('x', '2'), '"BNI="', new ExactNumber('12.34')],
    [decimalColumn('x', '2'), '"+y4="', new ExactNumber('-12.34')],
    [decimalColumn('x', '-2'), '"BQ=="', new ExactNumber('500')],
    [
      decimalColumn('x', '0'),
      '"f////////////////////w=="',
      new ExactNumber('170141183460469231731687303715884105727'),
    ],
    [{ type: 'array', items: time('Date') }, '[0, 1]', ['1970-01-01', '1970-01-02']],
  ])('%j %s', (column, value, expected) => {
    expect(decoded(column, value)).toEqual(expected);
  });

  test.each([
    [time('MicroTimestamp'), '9223372036854775807'],
    [time('Timestamp'), '1769860800123456'],
    [time('Timestamp'), '1.5'],
    [time('MicroTime'), '86400000000'],
    [time('Date'), '999999999'],
    [decimalColumn('x', '9999'), '"BQ=="'],
    [decimalColumn('x', '2'), '"B"'],
    [decimalColumn('x', '2'), '""'],
    [decimalColumn('x', '2'), `"${Buffer.alloc(200, 1).toString('base64')}"`],
  ])('%j %s cannot be read for certain, and says so only when it is needed', (column, value) => {
    expect(decoded(column, value)).toBeInstanceOf(Undecodable);
  });

  test('nested structs, and columns named as what every object inherits', () => {
    const schema = parseText(
      '{"fields": [{"field": "after", "fields": [{"field": "constructor", "type": "struct", "fields": []}]}]}',
      's',
    );
    const row = decodeStruct(
      fieldSchema(schema, 'after'),
      parseText('{"constructor": {"a": 1}, "__proto__": 2}', 'row') as JsonObject,
    );
    expect(row.get('constructor')).toEqual(new Map([['a', new ExactNumber('1')]]));
    expect(row.get('toString')).toBeUndefined();
  });

  test.each([
    ['{"$date": "2026-01-31T12:00:00Z"}', '2026-01-31T12:00:00.000Z'],
    ['{"$date": {"$numberLong": "1769860800123"}}', '2026-01-31T12:00:00.123Z'],
    ['{"$date": 1769860800123}', '2026-01-31T12:00:00.123Z'],
    ['{"$symbol": "s"}', 's'],
  ])('extended JSON %s', (text, expected) => {
    expect(decodeExtendedJson(parseText(text, 'x'))).toBe(expected);
  });

  test.each([
    '{"$date": 1e999999999}',
    '{"$date": "2026"}',
    '{"$oid": "x"}',
    '{"$timestamp": {"t": 1, "i": 1}}',
    '{"$numberLong": "x"}',
    '{"$date": {"$date": 1}, "x": 1}',
  ])('extended JSON %s cannot be read for certain', (text) => {
    expect(decodeExtendedJson(parseText(text, 'x'))).toBeInstanceOf(Undecodable);
  });
});
