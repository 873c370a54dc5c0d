/**
 * Change events of Debezium's PostgreSQL, MySQL and MongoDB connectors, written after their public documentation:
 * what ensures, what is ignored and why, and that every encoding is undone by its schema or not at all.
 */
import { decodeStruct, fieldSchema } from '../bridge/topics/connectSchema';
import { decodeExtendedJson } from '../bridge/topics/extendedJson';
import { ExactNumber } from '../bridge/topics/exactNumber';
import { createDecoder, type Decoded, type KafkaRecord } from '../bridge/topics';
import { parseText, type JsonObject } from '../bridge/topics/json';
import { Undecodable } from '../bridge/topics/rowValue';

const topics = {
  PAYMENT_SUCCESS: 'paid',
  KITCHEN_TICKET_ITEM_STATUS_CHANGED: 'kitchen',
  MATERIAL_TRANSFERRED: 'moved',
  PURCHASE_ORDER_RECEIVED: 'received',
  MERCHANT: 'merchants',
  PRODUCT_VARIANT: 'variants',
};
const decode = createDecoder({ topics, consumingStatuses: ['READY'], maxEventBytes: 262_144 });
const source = { topic: 'merchants', partition: 1, offset: '9' };

function record(topic: string, value: unknown, key: unknown = null): KafkaRecord {
  const bytes = (json: unknown) =>
    json === null ? null : Buffer.from(typeof json === 'string' ? json : JSON.stringify(json));
  return {
    topic,
    partition: 1,
    offset: '9',
    timestamp: '1769860800000',
    key: bytes(key),
    value: bytes(value),
  };
}
const onMerchants = (value: unknown, key?: unknown) => decode(record('merchants', value, key));
const onVariants = (value: unknown, key?: unknown) => decode(record('variants', value, key));

const ensuresMerchant = (merchantId: string): Decoded => ({
  became: 'command',
  command: { type: 'ensureDefaultLocation', input: { schema: 1, merchantId, source } },
});
const ensuresItem = (variantId: string, merchantId: string): Decoded => ({
  became: 'command',
  command: {
    type: 'ensureInventoryItem',
    input: { schema: 1, variantId, merchantId, source: { ...source, topic: 'variants' } },
  },
});
const ignores = (reason: string) => ({ became: 'ignored', reason });
function refusal(decoded: Decoded): string {
  if (decoded.became !== 'dead-letter')
    throw new Error(`expected a dead letter, got ${JSON.stringify(decoded)}`);
  return decoded.reason;
}

const postgres = (op: string, after: unknown, before: unknown = null) => ({
  before,
  after,
  source: {
    version: '3.0.0.Final',
    connector: 'postgresql',
    name: 'shop',
    ts_ms: 1769860800000,
    schema: 'public',
    lsn: 34,
  },
  transaction: null,
  op,
  ts_ms: 1769860800500,
  ts_us: 1769860800500123,
});
const mysql = (op: string, after: unknown) => ({
  ...postgres(op, after),
  source: { connector: 'mysql', file: 'bin.3', pos: 154 },
});
const mongo = (op: string, after: unknown, more: object = {}) => ({
  after,
  updateDescription: null,
  source: { connector: 'mongodb', db: 'shop', rs: 'rs0', collection: 'variants', ord: 31 },
  op,
  ts_ms: 1769860800500,
  ...more,
});
const wrapped = (payload: object, ...columns: object[]) => ({
  schema: {
    type: 'struct',
    fields: ['before', 'after'].map((field) => ({
      type: 'struct',
      optional: true,
      name: 'shop.Value',
      field,
      fields: columns,
    })),
    optional: false,
    name: 'shop.Envelope',
  },
  payload,
});
const decimalColumn = (field: string, scale: string) => ({
  type: 'bytes',
  name: 'org.apache.kafka.connect.data.Decimal',
  version: 1,
  parameters: { scale, 'connect.decimal.precision': '20' },
  field,
});

describe('a row that was created, updated or read by a snapshot is ensured', () => {
  test.each(['c', 'u', 'r'])('op %s, from each connector, with and without the schema wrapper', (op) => {
    const row = { id: 12, merchant_id: 'm-1', name: 'Espresso' };
    for (const event of [postgres(op, row), mysql(op, row)]) {
      expect(onMerchants(event)).toEqual(ensuresMerchant('12'));
      expect(onVariants(wrapped(event, { type: 'int32', field: 'id' }))).toEqual(ensuresItem('12', 'm-1'));
      expect(onVariants({ schema: null, payload: event })).toEqual(ensuresItem('12', 'm-1'));
    }
    const document = mongo(
      op,
      '{"_id": {"$oid": "596E275826f08b2730779e1f"}, "merchantId": {"$numberLong": "1004"}}',
    );
    expect(onVariants(document)).toEqual(ensuresItem('596e275826f08b2730779e1f', '1004'));
    expect(onMerchants({ schema: { type: 'struct' }, payload: document })).toEqual(
      ensuresMerchant('596e275826f08b2730779e1f'),
    );
  });

  test('the same row gives the same command at every delivery, and nothing of the record but its IDs is kept', () => {
    const event = postgres('u', { id: 'm', secret: 'x' }, { id: 'm' });
    expect(onMerchants(event)).toEqual(onMerchants(event));
    expect(JSON.stringify(onMerchants(event))).not.toContain('secret');
  });

  test('a row flattened by the connector, when it carries its operation', () => {
    expect(onMerchants({ id: 'm', __op: 'u', __deleted: 'false' })).toEqual(ensuresMerchant('m'));
    const flat = {
      schema: { type: 'struct', fields: [decimalColumn('id', '0')] },
      payload: { id: 'BQ==', __op: 'c' },
    };
    expect(onMerchants(flat)).toEqual(ensuresMerchant('5'));
    expect(onMerchants({ id: 'm', __op: 'd' })).toEqual(ignores('delete'));
    expect(onMerchants({ id: 'm', __deleted: 'true' })).toEqual(ignores('delete'));
  });

  test('but not one that doesn’t: any message may have an id', () => {
    const cloudEvent = {
      id: 'name:shop;lsn:29274832',
      source: '/debezium',
      specversion: '1.0',
      data: { id: 'm' },
    };
    for (const event of [{ id: 'm' }, cloudEvent]) {
      expect(refusal(onMerchants(event))).toMatch(
        /^op: missing; send the connector's envelope .* or a flattened row/,
      );
    }
  });
});

describe('everything else is ignored by name', () => {
  test.each([
    ['delete', postgres('d', null, { id: 1 })],
    ['delete', mongo('d', null)],
    ['tombstone', null],
    ['tombstone', 'null'],
    ['tombstone', { schema: null, payload: null }],
    ['truncate', postgres('t', null)],
    ['message', { op: 'm', ts_ms: 1, source: {}, message: { prefix: 'p', content: 'aGk=' } }],
    ['heartbeat', { ts_ms: 1769860800500 }],
    ['heartbeat', { schema: { type: 'struct' }, payload: { ts_ms: 1 } }],
    [
      'transaction-marker',
      { status: 'BEGIN', id: '571', ts_ms: 1, event_count: null, data_collections: null },
    ],
    [
      'transaction-marker',
      {
        status: 'END',
        id: '571',
        event_count: 2,
        data_collections: [{ data_collection: 'a', event_count: 2 }],
      },
    ],
    [
      'schema-change',
      {
        source: { connector: 'mysql' },
        databaseName: 'shop',
        ddl: 'ALTER TABLE m ADD c INT',
        tableChanges: [],
      },
    ],
  ])('%s: %j', (reason, event) => {
    expect(onMerchants(event)).toEqual(ignores(reason));
    expect(onVariants(event)).toEqual(ignores(reason));
  });

  test('a tombstone with a key, as it follows a delete', () => {
    expect(onVariants(null, { id: 1 })).toEqual(ignores('tombstone'));
  });

  test('a null value on an event topic is a fault: no one deletes a sale', () => {
    expect(refusal(decode(record('paid', null)))).toBe(
      'value: null; send the event; this topic has no tombstones',
    );
  });
});

describe('a MongoDB update without its document', () => {
  const update = (updatedFields: string | null) =>
    mongo('u', null, { updateDescription: { removedFields: null, updatedFields, truncatedArrays: null } });

  test('ensures what its key and its changed fields say', () => {
    const key = { id: '{"$oid" : "596e275826f08b2730779e1f"}' };
    expect(onMerchants(update('{"name": "x"}'), key)).toEqual(ensuresMerchant('596e275826f08b2730779e1f'));
    expect(onMerchants(update(null), { schema: {}, payload: { id: '"m-1"' } })).toEqual(
      ensuresMerchant('m-1'),
    );
    expect(onVariants(update('{"merchantId": 7}'), { id: '1234' })).toEqual(ensuresItem('1234', '7'));
  });

  test('is ignored by name when these do not suffice', () => {
    expect(onVariants(update('{"price": 7}'), { id: '1234' })).toEqual(ignores('update-without-row'));
    for (const key of [null, 'Struct{id=1}', { id: 5 }, '{"id":']) {
      expect(onMerchants(update(null), key)).toEqual(ignores('update-without-row'));
    }
  });

  test('is a fault from a relational connector, which always has the row', () => {
    expect(refusal(onMerchants(postgres('u', null)))).toMatch(/^after: null is no row; send/);
  });
});

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

describe('a placeholder for an unavailable value never creates anything', () => {
  const placeholder = '__debezium_unavailable_value';
  test.each([
    postgres('u', { id: 'v', merchantId: placeholder }),
    postgres('u', { id: placeholder, merchantId: 'm' }),
    postgres('u', { id: 'v', merchant_id: Buffer.from(placeholder).toString('base64') }),
  ])('%#', (event) => {
    expect(onVariants(event)).toEqual(ignores('unavailable-value'));
  });
});

describe('a fault of a change event names field, value and remedy', () => {
  test.each([
    [postgres('x', { id: 1 }), 'op: "x" is no operation of a change event; send c, u, r, d, t or m'],
    [postgres('c', 'text'), /^after: not valid JSON/],
    [postgres('c', {}), "id: missing; send the merchant's primary key"],
    [postgres('c', { id: null }), "id: null must be text or a whole number; send the merchant's primary key"],
    [
      postgres('c', { id: 1.5 }),
      "id: 1.5 must be a whole number of at most 64 bits; send the merchant's primary key",
    ],
    [[], /^value: a list is no change event; send/],
    [
      mongo('c', '{"_id": 1, "_id": 2}'),
      'value: field "_id" is given twice with different values; send it once',
    ],
  ])('%j', (event, reason) => {
    if (typeof reason === 'string') expect(refusal(onMerchants(event))).toBe(reason);
    else expect(refusal(onMerchants(event))).toMatch(reason);
  });

  test('a variant without merchant, with two, or whose stock no event could name', () => {
    expect(refusal(onVariants(postgres('c', { id: 'v' })))).toBe(
      "merchantId: missing; send the primary key of the variant's merchant",
    );
    expect(refusal(onVariants(postgres('c', { id: 'v', merchantId: 'a', merchant_id: 'b' })))).toMatch(
      /^merchant_id: stands beside/,
    );
    const long = postgres('c', { id: 'v'.repeat(100), merchantId: 'm'.repeat(100) });
    expect(refusal(onVariants(long))).toMatch(
      /^id: "v+"… \(100 characters\) makes, with its merchant, a stock ID of 201 bytes/,
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
