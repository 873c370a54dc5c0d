/** What the hand-written contenders make of an event: as little as a careful consumer can do with. */

/** One signed quantity on one stock, as decimal text. */
export interface Leg {
  stockId: string;
  delta: string;
}

export interface Movement {
  referenceType: 'SALE_ORDER' | 'MATERIAL_TRANSFER';
  referenceId: string;
  /** In stock-ID order, so that two transactions meet at the first stock they share, not crosswise. */
  legs: Leg[];
  occurredAt: Date;
  source: { topic: string; partition: number; offset: string };
}

interface Payment {
  saleOrderId: string;
  paidAt: string;
  lines: { stockId: string; quantity: string }[];
}

interface Transfer {
  transferId: string;
  transferredAt: string;
  fromStockId: string;
  toStockId: string;
  quantity: string;
}

/** Reads an event of either topic. The benchmark's events are all well-formed, so nothing is refused here. */
export function readMovement(value: string, source: Movement['source']): Movement {
  const event = JSON.parse(value) as Payment | Transfer;
  if ('saleOrderId' in event) {
    const legs = event.lines.map((line) => ({ stockId: line.stockId, delta: `-${line.quantity}` }));
    return {
      referenceType: 'SALE_ORDER',
      referenceId: event.saleOrderId,
      legs: legs.sort(byStock),
      occurredAt: new Date(event.paidAt),
      source,
    };
  }
  const legs = [
    { stockId: event.fromStockId, delta: `-${event.quantity}` },
    { stockId: event.toStockId, delta: event.quantity },
  ];
  return {
    referenceType: 'MATERIAL_TRANSFER',
    referenceId: event.transferId,
    legs: legs.sort(byStock),
    occurredAt: new Date(event.transferredAt),
    source,
  };
}

function byStock(a: Leg, b: Leg): number {
  return a.stockId < b.stockId ? -1 : 1;
}

/** The idempotency key of a leg, as text: the `_id` of its entry. */
export function keyOf({ referenceType, referenceId }: Movement, stockId: string): string {
  return `${referenceType}/${referenceId}/${stockId}`;
}
