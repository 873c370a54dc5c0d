/** What each refusal says, and how times are read. */
import { decode, record, reasonOf, sale } from './topics.records';

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
      sale({}, { paidAt: '2026-02-30T12:00:00.000Z' }),
      /^paidAt: "2026-02-30T12:00:00.000Z" must be a time such as/,
    ],
    [sale({}, { paidAt: '1999-12-31T23:59:59.999Z' }), /^paidAt: .* must lie between 2000 and 2100/],
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
