/** Change events: what ensures, what is ignored and why, and what is a fault. */
import {
  decode,
  record,
  onMerchants,
  onVariants,
  ensuresMerchant,
  ensuresItem,
  ignores,
  refusal,
  postgres,
  mysql,
  mongo,
  wrapped,
  decimalColumn,
} from './topics.debeziumRecords';

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
