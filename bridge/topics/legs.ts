/**
 * From lines to legs: one per stock, in the one order that gives every delivery of a document the same digest.
 */
import type { Leg, MoveStock, ReferenceType } from '../../commands';
import { MessageFault, show } from './fault';
import { isInRange, isZero, type Decimal } from './quantity';
import { recordTime } from './time';
import type { KafkaRecord } from './topic';

export interface Line {
  stockId: string;
  /** Signed. */
  quantity: Decimal;
}

/**
 * Adds lines of one stock up, drops what nets to zero and sorts by code units (not by locale, which differs
 * between machines).
 * @throws MessageFault when a sum reaches the quantity limit
 */
export function toLegs(lines: readonly Line[], listField: string): Leg[] {
  const sums = new Map<string, Decimal>();
  for (const { stockId, quantity } of lines) {
    const sum = sums.get(stockId);
    sums.set(stockId, sum === undefined ? quantity : sum.plus(quantity));
  }
  const legs: Leg[] = [];
  for (const [inventoryStockId, sum] of sums) {
    if (!isInRange(sum)) {
      const problem = `the lines of stock ${show(inventoryStockId)} add up to 10^15 or more`;
      throw new MessageFault(listField, problem, 'send the true quantities');
    }
    if (!isZero(sum)) legs.push({ inventoryStockId, delta: sum.toFixed() });
  }
  return legs.sort((a, b) => (a.inventoryStockId < b.inventoryStockId ? -1 : 1));
}

/**
 * The command for a document; `occurredAt` falls back to the record's own time.
 * @throws MessageFault when the record has no time either
 */
export function moveStock(
  referenceType: ReferenceType,
  referenceId: string,
  legs: Leg[],
  occurredAt: { field: string; time: string | null | undefined },
  record: KafkaRecord,
): { type: 'moveStock'; input: MoveStock } {
  const at = occurredAt.time ?? recordTime(record.timestamp);
  if (at === undefined) {
    throw new MessageFault(
      occurredAt.field,
      'missing, and the record has no time of its own',
      'send one of them',
    );
  }
  return {
    type: 'moveStock',
    input: { schema: 1, referenceType, referenceId, legs, occurredAt: at, source: sourceOf(record) },
  };
}

/** Where the record stands in Kafka. */
export function sourceOf({ topic, partition, offset }: KafkaRecord) {
  return { topic, partition, offset };
}
