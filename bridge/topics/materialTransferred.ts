/**
 * MATERIAL_TRANSFERRED: what leaves one stock arrives at another, in one command, keyed by
 * (MATERIAL_TRANSFER, transferId, fromStockId) and (…, toStockId). One line in the event itself, or several.
 */
import { z } from 'zod';
import { MessageFault, show } from './fault';
import { check, id, lines, object, quantity, time } from './fields';
import { field, isObject, type Json } from './json';
import { moveStock, toLegs } from './legs';
import { commanded, ignored, type Topic } from './topic';

const line = {
  fromStockId: id('the ID of the stock it leaves'),
  toStockId: id('the ID of the stock it arrives at'),
  quantity: quantity('the quantity that was moved'),
};
const document = { transferId: id('the ID of the transfer'), transferredAt: time('when it was moved') };
const single = object({ ...document, ...line });
const several = object({ ...document, lines: lines(object(line), 'the lines that were moved') });

export const materialTransferred: Topic = {
  contract: z.union([single, several]),
  examples: [
    { transferId: 'T-1', fromStockId: 'A', toStockId: 'B', quantity: '5' },
    { transferId: 'T-2', lines: [{ fromStockId: 'A', toStockId: 'B', quantity: '1.5' }] },
  ],
  decode(value, record) {
    const { transferId, transferredAt, lines } = read(value);
    if (lines.length === 0) return ignored('no-lines');
    const moves = lines.flatMap(({ fromStockId, toStockId, quantity }) => [
      { stockId: fromStockId, quantity: quantity.neg() },
      { stockId: toStockId, quantity },
    ]);
    const legs = toLegs(moves, 'lines');
    if (legs.length === 0) return ignored('transfer-nets-to-zero');
    const at = { field: 'transferredAt', time: transferredAt };
    return commanded(moveStock('MATERIAL_TRANSFER', transferId, legs, at, record));
  },
};

function read(value: Json) {
  const hasLines = isObject(value) && isGiven(field(value, 'lines'));
  if (!hasLines) {
    const event = check(single, value);
    refuseSameStock(event, '');
    return { ...event, lines: [event] };
  }
  const both = Object.keys(line).find((name) => isGiven(field(value, name)));
  if (both !== undefined) {
    const problem = `${show(value[both])} stands beside lines`;
    throw new MessageFault(both, problem, 'send either one line in the event itself or all of them in lines');
  }
  const event = check(several, value, 'lines');
  event.lines.forEach((one, index) => refuseSameStock(one, `lines[${index}].`));
  return event;
}

/** A line onto its own stock moves nothing: one of the two IDs is wrong, and no one can say which. */
function refuseSameStock(one: { fromStockId: string; toStockId: string }, path: string): void {
  if (one.fromStockId !== one.toStockId) return;
  const problem = `${show(one.toStockId)} is the stock it leaves`;
  throw new MessageFault(`${path}toStockId`, problem, 'send the ID of the other stock');
}

function isGiven(value: Json | undefined): boolean {
  return value !== undefined && value !== null;
}
