/** What each event becomes, and what each refusal says. Debezium's and hostile bytes have files of their own. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { z } from 'zod';
import { contractFiles } from '../bridge/topics/contract';
import {
  createDecoder,
  TOPIC_NAMES,
  TOPICS,
  type Decoded,
  type KafkaRecord,
  type TopicName,
} from '../bridge/topics';
import { workflowIdOf } from '../commands';

const topics = Object.fromEntries(TOPIC_NAMES.map((name) => [name, `shop.${name}`])) as Record<
  TopicName,
  string
>;
const settings = { topics, consumingStatuses: ['PREPARING', 'READY', 'SERVED'], maxEventBytes: 262_144 };
const decode = createDecoder(settings);

function record(topic: TopicName, value: unknown, more: Partial<KafkaRecord> = {}): KafkaRecord {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return {
    topic: topics[topic],
    partition: 3,
    offset: '42',
    timestamp: '1769860800000',
    key: null,
    value: Buffer.from(text),
    ...more,
  };
}

function commandOf(decoded: Decoded) {
  if (decoded.became !== 'command') throw new Error(`expected a command, got ${JSON.stringify(decoded)}`);
  return decoded.command;
}

function legsOf(topic: TopicName, value: unknown) {
  const command = commandOf(decode(record(topic, value)));
  if (command.type !== 'moveStock') throw new Error(command.type);
  return command.input.legs.map((leg) => [leg.inventoryStockId, leg.delta]);
}

function reasonOf(topic: TopicName, value: unknown): string {
  const decoded = decode(record(topic, value));
  if (decoded.became !== 'dead-letter')
    throw new Error(`expected a dead letter, got ${JSON.stringify(decoded)}`);
  return decoded.reason;
}

const sale = (line: object, more: object = {}) => ({
  saleOrderId: 'SO-1',
  lines: [{ stockId: 'S', quantity: '1', ...line }],
  ...more,
});

describe('every event becomes exactly its command', () => {
  const at = '2026-01-31T12:00:00.000Z';
  test.each([
    [
      'PAYMENT_SUCCESS',
      {
        saleOrderId: 'SO-1',
        paidAt: '2026-01-31T13:00:00+01:00',
        lines: [{ stockId: 'STK-1', quantity: '2' }],
        till: 4,
      },
      {
        referenceType: 'SALE_ORDER',
        referenceId: 'SO-1',
        legs: [{ inventoryStockId: 'STK-1', delta: '-2' }],
      },
    ],
    [
      'KITCHEN_TICKET_ITEM_STATUS_CHANGED',
      {
        kitchenTicketItemId: 'KTI-1',
        status: 'PREPARING',
        materials: [{ materialStockId: 'STK-7', quantity: '0.25' }],
      },
      {
        referenceType: 'KITCHEN_TICKET_ITEM',
        referenceId: 'KTI-1',
        legs: [{ inventoryStockId: 'STK-7', delta: '-0.25' }],
      },
    ],
    [
      'MATERIAL_TRANSFERRED',
      { transferId: 'T-1', fromStockId: 'B', toStockId: 'A', quantity: '5', transferredAt: 1769860800000 },
      {
        referenceType: 'MATERIAL_TRANSFER',
        referenceId: 'T-1',
        legs: [
          { inventoryStockId: 'A', delta: '5' },
          { inventoryStockId: 'B', delta: '-5' },
        ],
      },
    ],
    [
      'PURCHASE_ORDER_RECEIVED',
      { purchaseOrderId: 'PO-1', receiptId: 'R-1', lines: [{ stockId: 'STK-1', quantity: 2.5 }] },
      {
        referenceType: 'PURCHASE_ORDER',
        referenceId: 'PO-1#R-1',
        legs: [{ inventoryStockId: 'STK-1', delta: '2.5' }],
      },
    ],
  ] as const)('%s', (topic, event, expected) => {
    expect(decode(record(topic, event))).toEqual({
      became: 'command',
      command: {
        type: 'moveStock',
        input: {
          schema: 1,
          ...expected,
          occurredAt: at,
          source: { topic: topics[topic], partition: 3, offset: '42' },
        },
      },
    });
  });

  test('a receipt that is null is a purchase order without receipts', () => {
    const event = { purchaseOrderId: 'PO-1', receiptId: null, lines: [{ stockId: 'S', quantity: '1' }] };
    expect(commandOf(decode(record('PURCHASE_ORDER_RECEIVED', event))).input).toMatchObject({
      referenceId: 'PO-1',
    });
  });

  test('a safe integer is taken as the text of an ID', () => {
    const command = commandOf(
      decode(record('PAYMENT_SUCCESS', { ...sale({ stockId: 7 }), saleOrderId: 9007199254740991 })),
    );
    expect(command.input).toMatchObject({
      referenceId: '9007199254740991',
      legs: [{ inventoryStockId: '7' }],
    });
  });
});

describe('the same document always gives the same workflow ID', () => {
  const workflowId = (lines: object[]) =>
    workflowIdOf(commandOf(decode(record('PAYMENT_SUCCESS', { saleOrderId: 'SO-1', lines }))));
  const line = fc.record({
    stockId: fc.constantFrom('a', 'B', 'é', 'e\u0301', 'z/1', '10', '9', '😀', '\uffee'),
    thousandths: fc.integer({ min: 2, max: 1e9 }),
  });
  const decimal = (thousandths: number) =>
    `${Math.floor(thousandths / 1000)}.${String(thousandths % 1000).padStart(3, '0')}`;
  const made = (lines: { stockId: string; thousandths: number }[]) =>
    workflowId(lines.map(({ stockId, thousandths }) => ({ stockId, quantity: decimal(thousandths) })));

  test('whatever the order of its lines, and split or joined', () => {
    fc.assert(
      fc.property(
        fc
          .array(line, { minLength: 1, maxLength: 8 })
          .chain((lines) =>
            fc.tuple(fc.constant(lines), fc.shuffledSubarray(lines, { minLength: lines.length })),
          ),
        fc.nat(),
        ([lines, shuffled], at) => {
          expect(made(shuffled)).toBe(made(lines));
          const one = shuffled[at % shuffled.length];
          if (one === undefined) throw new Error('no line');
          const parts = [1, one.thousandths - 1].map((thousandths) => ({ ...one, thousandths }));
          expect(made([...shuffled.filter((other) => other !== one), ...parts])).toBe(made(lines));
        },
      ),
    );
  });

  test('however its quantities are written', () => {
    const ids = ['"2.5"', '"2.50"', '2.5', '2.500000', '25e-1', '"0.25E+1"', '"2.50000000"'].map((quantity) =>
      workflowIdOf(
        commandOf(
          decode(
            record('PAYMENT_SUCCESS', `{"saleOrderId":"1","lines":[{"stockId":"S","quantity":${quantity}}]}`),
          ),
        ),
      ),
    );
    expect(new Set(ids).size).toBe(1);
  });

  test('and an edited one another', () => {
    expect(workflowId([{ stockId: 'S', quantity: '1' }])).not.toBe(
      workflowId([{ stockId: 'S', quantity: '1.000001' }]),
    );
  });

  test('legs stand in the order of code units, not of any language', () => {
    const lines = ['a', 'B', '9', '10', 'é', '😀', '\uffee'].map((stockId) => ({ stockId, quantity: '1' }));
    expect(legsOf('PAYMENT_SUCCESS', { saleOrderId: 'SO', lines }).map(([id]) => id)).toEqual([
      '10',
      '9',
      'B',
      'a',
      'é',
      '😀',
      '\uffee',
    ]);
  });
});

describe('quantities are exact', () => {
  test('0.1 + 0.2 of one stock is 0.3, and large amounts keep every decimal', () => {
    const lines = [
      { stockId: 'S', quantity: 0.1 },
      { stockId: 'S', quantity: '0.2' },
      { stockId: 'T', quantity: '999999999999998.999999' },
      { stockId: 'T', quantity: '0.000001' },
    ];
    expect(legsOf('PAYMENT_SUCCESS', { saleOrderId: 'SO', lines })).toEqual([
      ['S', '-0.3'],
      ['T', '-999999999999999'],
    ]);
  });

  test('a sum that reaches the limit is refused by the name of its stock', () => {
    const lines = Array.from({ length: 2 }, () => ({ stockId: 'S', quantity: '500000000000000' }));
    expect(reasonOf('PAYMENT_SUCCESS', { saleOrderId: 'SO', lines })).toBe(
      'lines: the lines of stock "S" add up to 10^15 or more; send the true quantities',
    );
  });
});

describe('transfers', () => {
  const move = (...moves: [from: string, to: string, quantity: string][]) => ({
    transferId: 'T',
    lines: moves.map(([fromStockId, toStockId, quantity]) => ({ fromStockId, toStockId, quantity })),
  });

  test('a stock that only passes material on has no leg', () => {
    expect(legsOf('MATERIAL_TRANSFERRED', move(['A', 'B', '2'], ['B', 'C', '2.0']))).toEqual([
      ['A', '-2'],
      ['C', '2'],
    ]);
  });

  test('one whose lines undo each other is ignored, and says so', () => {
    const decoded = decode(record('MATERIAL_TRANSFERRED', move(['A', 'B', '2'], ['B', 'A', '2'])));
    expect(decoded).toEqual({ became: 'ignored', reason: 'transfer-nets-to-zero' });
  });

  test('both forms in one event are refused, because one of them would be dropped', () => {
    expect(reasonOf('MATERIAL_TRANSFERRED', { ...move(['A', 'B', '2']), quantity: '2' })).toBe(
      'quantity: "2" stands beside lines; send either one line in the event itself or all of them in lines',
    );
  });
});

describe('what asks for nothing is ignored with its reason', () => {
  test.each([
    [
      'KITCHEN_TICKET_ITEM_STATUS_CHANGED',
      { kitchenTicketItemId: 'K', status: 'CANCELLED' },
      'status-does-not-consume',
    ],
    [
      'KITCHEN_TICKET_ITEM_STATUS_CHANGED',
      { kitchenTicketItemId: 'K', status: 'preparing', materials: 'x' },
      'status-does-not-consume',
    ],
    [
      'KITCHEN_TICKET_ITEM_STATUS_CHANGED',
      { kitchenTicketItemId: 'K', status: 'READY', materials: [] },
      'no-materials',
    ],
    ['PAYMENT_SUCCESS', { saleOrderId: 'SO', lines: [] }, 'no-lines'],
    ['PURCHASE_ORDER_RECEIVED', { purchaseOrderId: 'PO', lines: [] }, 'no-lines'],
    ['MATERIAL_TRANSFERRED', { transferId: 'T', lines: [] }, 'no-lines'],
  ] as const)('%s %j: %s', (topic, event, reason) => {
    expect(decode(record(topic, event))).toEqual({ became: 'ignored', reason });
  });
});

describe('every refusal names field, value and remedy', () => {
  test.each([
    [
      sale({ quantity: '0' }),
      'lines[0].quantity: "0" must be greater than zero; send the quantity that was sold',
    ],
    [
      sale({ quantity: '-1' }),
      'lines[0].quantity: "-1" must be greater than zero; send the quantity that was sold',
    ],
    [
      sale({ quantity: '1,5' }),
      'lines[0].quantity: "1,5" must be a plain decimal such as "2.5" (digits, a dot, digits); send the quantity that was sold',
    ],
    [
      sale({ quantity: '0.0000001' }),
      'lines[0].quantity: "0.0000001" must have at most 6 decimals; send the quantity that was sold',
    ],
    [
      sale({ quantity: '1000000000000000' }),
      'lines[0].quantity: "1000000000000000" must be below 10^15; send the quantity that was sold',
    ],
    [
      sale({ quantity: 0.1 + 0.2 }),
      'lines[0].quantity: 0.30000000000000004 has more than 15 significant digits, which many JSON writers round; write it as text; send the quantity that was sold',
    ],
    [sale({ quantity: null }), 'lines[0].quantity: null must be a decimal; send the quantity that was sold'],
    [sale({ quantity: undefined }), 'lines[0].quantity: missing; send the quantity that was sold'],
    [
      sale({ stockId: '' }),
      'lines[0].stockId: "" must not be empty; send the ID of the stock it was sold from',
    ],
    [
      sale({ stockId: 'a\u0007' }),
      'lines[0].stockId: "a\\u0007" must not hold control characters or half characters; send the ID of the stock it was sold from',
    ],
    [
      sale({ stockId: 'é'.repeat(61) }),
      `lines[0].stockId: "${'é'.repeat(61)}" must be at most 120 bytes long; send the ID of the stock it was sold from`,
    ],
    [
      sale({ stockId: 1.5 }),
      'lines[0].stockId: 1.5 must be a whole number or text; send the ID of the stock it was sold from',
    ],
    [
      sale({ stockId: { $ne: null } }),
      'lines[0].stockId: an object must be text or a whole number; send the ID of the stock it was sold from',
    ],
    [
      sale({}, { saleOrderId: true }),
      'saleOrderId: true must be text or a whole number; send the ID of the sale order',
    ],
    [sale({}, { lines: 'x' }), 'lines: "x" must be a list; send the lines that were sold'],
    [sale({}, { lines: undefined }), 'lines: missing; send the lines that were sold'],
    [sale({}, { lines: [3] }), 'lines[0]: 3 must be an object; send a JSON object'],
    [
      sale({}, { paidAt: '2026-01-31T12:00:00' }),
      'paidAt: "2026-01-31T12:00:00" must be a time such as "2026-01-31T12:00:00Z" (with Z or an offset) or whole milliseconds since 1970; send when it was paid',
    ],
    [sale({}, { paidAt: '2026-02-30T12:00:00Z' }), /^paidAt: "2026-02-30T12:00:00Z" must be a time such as/],
    [
      sale({}, { paidAt: 1769860800 }),
      'paidAt: 1769860800 must lie between 2000 and 2100, counted in milliseconds; send when it was paid',
    ],
    [sale({}, { paidAt: 17698608000000000 }), /^paidAt: 17698608000000000 must be a time such as/],
    [sale({}, { lines: Array(1001).fill({}) }), 'lines: 1001 lines, more than 1000; split the document'],
    [[], 'value: a list must be an object; send a JSON object'],
    ['null', 'value: null must be an object; send a JSON object'],
    ['{"saleOrderId":"SO-1",}', /^value: not valid JSON \(.*\); send one JSON object$/],
    ['{"a":1,"a":2}', 'value: field "a" is given twice with different values; send it once'],
    ['{"a":1,"a":1}', 'value: an object in it gives the same field twice; send each field once'],
  ])('%j', (event, reason) => {
    if (typeof reason === 'string') expect(reasonOf('PAYMENT_SUCCESS', event)).toBe(reason);
    else expect(reasonOf('PAYMENT_SUCCESS', event)).toMatch(reason);
  });

  test('a transfer onto its own stock', () => {
    expect(
      reasonOf('MATERIAL_TRANSFERRED', { transferId: 'T', fromStockId: 'A', toStockId: 'A', quantity: '1' }),
    ).toBe('toStockId: "A" is the stock it leaves; send the ID of the other stock');
    const lines = [
      { fromStockId: 'A', toStockId: 'B', quantity: '1' },
      { fromStockId: 'B', toStockId: 'B', quantity: '1' },
    ];
    expect(reasonOf('MATERIAL_TRANSFERRED', { transferId: 'T', lines })).toMatch(
      /^lines\[1\]\.toStockId: "B" is the stock/,
    );
  });

  test('a consuming kitchen status without its materials', () => {
    expect(
      reasonOf('KITCHEN_TICKET_ITEM_STATUS_CHANGED', { kitchenTicketItemId: 'K', status: 'SERVED' }),
    ).toBe('materials: missing; send the materials the item consumes');
  });

  test('an order and receipt that are too long together once escaped', () => {
    const event = {
      purchaseOrderId: '#'.repeat(120),
      receiptId: '%'.repeat(120),
      lines: [{ stockId: 'S', quantity: '1' }],
    };
    expect(reasonOf('PURCHASE_ORDER_RECEIVED', event)).toMatch(
      /^purchaseOrderId: "#+"… \(120 characters\) is, with the receipt/,
    );
  });

  test('a record over the size limit is refused unread', () => {
    const decoded = decode({ ...record('PAYMENT_SUCCESS', ''), value: Buffer.alloc(262_145, 0xff) });
    expect(decoded).toEqual({
      became: 'dead-letter',
      reason:
        'value: 262145 bytes, more than the 262144 that are allowed; send a smaller event or raise the limit',
    });
  });
});

describe('times', () => {
  const occurredAt = (paidAt: unknown, timestamp = '1769860800000') => {
    const decoded = decode(record('PAYMENT_SUCCESS', sale({}, { paidAt }), { timestamp }));
    return decoded.became === 'command' && decoded.command.type === 'moveStock'
      ? decoded.command.input.occurredAt
      : decoded;
  };

  test.each([
    ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31T12:00Z', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31T00:30:00.123456789+0530', '2026-01-30T19:00:00.123Z'],
    ['2024-02-29T23:59:59.9-02:00', '2024-03-01T01:59:59.900Z'],
    [1769860800001, '2026-01-31T12:00:00.001Z'],
    ['1769860800001', '2026-01-31T12:00:00.001Z'],
  ])('%s is read as %s', (given, utc) => {
    expect(occurredAt(given)).toBe(utc);
  });

  test('without one, the record has the time, and a wrong clock of its producer is no fault', () => {
    expect(occurredAt(undefined)).toBe('2026-01-31T12:00:00.000Z');
    expect(occurredAt(null, '5')).toBe('1970-01-01T00:00:00.005Z');
  });

  test('without either, the event is refused instead of dated by this machine', () => {
    for (const timestamp of ['-1', '', 'NaN', '9999999999999999']) {
      expect(occurredAt(undefined, timestamp)).toEqual({
        became: 'dead-letter',
        reason: 'paidAt: missing, and the record has no time of its own; send one of them',
      });
    }
  });
});

test('a record of a topic that is not set is a bug and throws, instead of being lost as a dead letter', () => {
  expect(() => decode({ ...record('MERCHANT', '{}'), topic: 'other' })).toThrow(
    'No event is set for topic other',
  );
});

test('two events on one topic are refused at start', () => {
  const same = { ...topics, MERCHANT: topics.PRODUCT_VARIANT };
  expect(() => createDecoder({ ...settings, topics: same })).toThrow('is set for');
});

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
