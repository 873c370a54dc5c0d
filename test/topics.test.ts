/** What each event becomes. Refusals, contract, Debezium and hostile bytes have files of their own. */
import fc from 'fast-check';
import { createDecoder } from '../bridge/topics';
import { workflowIdOf } from '../commands';
import { topics, settings, decode, record, commandOf, legsOf, reasonOf, sale } from './topics.records';

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

test('a record of a topic that is not set is a bug and throws, instead of being lost as a dead letter', () => {
  expect(() => decode({ ...record('MERCHANT', '{}'), topic: 'other' })).toThrow(
    'No event is set for topic other',
  );
});

test('two events on one topic are refused at start', () => {
  const same = { ...topics, MERCHANT: topics.PRODUCT_VARIANT };
  expect(() => createDecoder({ ...settings, topics: same })).toThrow('is set for');
});
