/** One evening of two small restaurants, as the events that their systems publish. The same every time. */

/** One record to publish; `value` is sent as it is. */
export interface ShiftEvent {
  topic: keyof Topics;
  key: string;
  value: string;
}

export interface Topics {
  PAYMENT_SUCCESS: string;
  KITCHEN_TICKET_ITEM_STATUS_CHANGED: string;
  MATERIAL_TRANSFERRED: string;
  PURCHASE_ORDER_RECEIVED: string;
  MERCHANT: string;
  PRODUCT_VARIANT: string;
}

const MERCHANTS = ['cafe-luna', 'bar-sol'];
const DRINKS = ['espresso', 'latte', 'lemonade', 'beer'];
const MATERIALS = ['beans', 'milk', 'lemons'];
const START = Date.parse('2026-11-27T17:00:00Z');
const ORDERS = 80;
const KITCHEN_ITEMS = 30;
const TRANSFERS = 12;

/**
 * @param run put into every ID, so that a second shift on the same servers is other business
 * @returns the catalogue, and the evening: events in the order they happened, then a fifth of everything once more,
 *   as Kafka does after a crash
 */
export function shift(run: string): { catalogue: ShiftEvent[]; evening: ShiftEvent[] } {
  const random = seeded(7);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const id = (text: string) => `${text}${run}`;
  const stock = (variant: string, merchant: string) => `${id(variant)}@${id(merchant)}`;
  const at = (minute: number) => new Date(START + minute * 60_000).toISOString();

  const catalogue: ShiftEvent[] = MERCHANTS.flatMap((merchant) => [
    debezium('MERCHANT', id(merchant), { id: id(merchant), name: merchant }),
    ...[...DRINKS, ...MATERIALS].map((variant) =>
      debezium('PRODUCT_VARIANT', `${id(variant)}-${id(merchant)}`, {
        id: id(variant),
        merchant_id: id(merchant),
      }),
    ),
  ]);
  const receipts: ShiftEvent[] = MERCHANTS.flatMap((merchant, i) => [
    event('PURCHASE_ORDER_RECEIVED', id(`PO-${i + 1}`), {
      purchaseOrderId: id(`PO-${i + 1}`),
      receiptId: 'R-1',
      receivedAt: at(-60),
      lines: DRINKS.map((drink) => ({ stockId: stock(drink, merchant), quantity: '150' })),
    }),
    event('PURCHASE_ORDER_RECEIVED', id(`PO-${i + 1}`), {
      purchaseOrderId: id(`PO-${i + 1}`),
      receiptId: 'R-2',
      receivedAt: at(-30),
      lines: MATERIALS.map((material) => ({ stockId: stock(material, merchant), quantity: '12.5' })),
    }),
  ]);
  const orders: ShiftEvent[] = Array.from({ length: ORDERS }, (_, i) => {
    const merchant = pick(MERCHANTS);
    const drink = pick(DRINKS);
    return order(id(`SO-${1001 + i}`), at(i), [
      // Two guests of one table order the same drink: two lines, one stock.
      { stockId: stock(drink, merchant), quantity: '1' },
      { stockId: stock(drink, merchant), quantity: '2' },
      { stockId: stock('lemonade', merchant), quantity: 1 },
    ]);
  });
  const kitchen: ShiftEvent[] = Array.from({ length: KITCHEN_ITEMS }, (_, i) => {
    const merchant = pick(MERCHANTS);
    const materials = [
      { materialStockId: stock('beans', merchant), quantity: '0.018' },
      { materialStockId: stock('milk', merchant), quantity: '0.25' },
    ];
    const item = id(`KTI-${501 + i}`);
    return ['QUEUED', 'PREPARING', 'READY', 'SERVED'].map((status) =>
      event('KITCHEN_TICKET_ITEM_STATUS_CHANGED', item, {
        kitchenTicketItemId: item,
        status,
        changedAt: at(i),
        materials,
      }),
    );
  }).flat();
  const transfers: ShiftEvent[] = Array.from({ length: TRANSFERS }, (_, i) => {
    const [from, to] = i % 2 ? MERCHANTS : [...MERCHANTS].reverse();
    const material = pick([...DRINKS, ...MATERIALS]);
    return event('MATERIAL_TRANSFERRED', id(`T-${i + 1}`), {
      transferId: id(`T-${i + 1}`),
      transferredAt: at(i * 5),
      fromStockId: stock(material, from!),
      toStockId: stock(material, to!),
      quantity: '2.5',
    });
  });
  const happened = [...receipts, ...mix([orders, kitchen, transfers], random)];
  const redelivered = [...catalogue, ...happened].filter((_, i) => i % 5 === 3);
  const evening: ShiftEvent[] = [
    ...happened,
    ...redelivered,
    edited(orders[0]!),
    // And one system is broken.
    {
      topic: 'PAYMENT_SUCCESS',
      key: id('SO-9999'),
      value: `{"saleOrderId":"${id('SO-9999')}","lines":[{"stockId":`,
    },
  ];
  return { catalogue, evening };
}

/** Somebody corrects a paid order at the till: the same order, five of the first drink more. */
function edited(paid: ShiftEvent): ShiftEvent {
  const content = JSON.parse(paid.value) as { lines: { stockId: string; quantity: string }[] };
  content.lines.push({ stockId: content.lines[0]!.stockId, quantity: '5' });
  return { ...paid, value: JSON.stringify(content) };
}

function order(saleOrderId: string, paidAt: string, lines: object[]): ShiftEvent {
  return event('PAYMENT_SUCCESS', saleOrderId, { saleOrderId, paidAt, currency: 'EUR', lines });
}

function event(topic: ShiftEvent['topic'], key: string, content: object): ShiftEvent {
  return { topic, key, value: JSON.stringify(content) };
}

function debezium(topic: ShiftEvent['topic'], key: string, after: object): ShiftEvent {
  const source = { connector: 'postgresql', db: 'shop', schema: 'public', table: topic.toLowerCase() };
  return event(topic, key, { before: null, after, source, op: 'c', ts_ms: START });
}

/** Interleaves lists, each in its own order. */
function mix<T>(lists: T[][], random: () => number): T[] {
  const rest = lists.map((list) => [...list]);
  const mixed: T[] = [];
  for (;;) {
    const left = rest.filter((list) => list.length > 0);
    if (left.length === 0) return mixed;
    mixed.push(left[Math.floor(random() * left.length)]!.shift()!);
  }
}

/** A small linear congruential generator: the demo shows the same evening to everybody. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648;
}
