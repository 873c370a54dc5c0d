/**
 * PURCHASE_ORDER_RECEIVED: received lines are added to stock, keyed by (PURCHASE_ORDER, purchaseOrderId, stockId),
 * or by (PURCHASE_ORDER, purchaseOrderId#receiptId, stockId) when an order arrives in parts.
 */
import { purchaseOrderReferenceId, referenceKey } from '../../commands';
import { MessageFault, show } from './fault';
import { check, id, lines, object, quantity, time } from './fields';
import { moveStock, toLegs } from './legs';
import { commanded, ignored, type Topic } from './topic';

const event = object({
  purchaseOrderId: id('the ID of the purchase order'),
  receiptId: id('the ID of this partial receipt, or leave it out').nullish(),
  receivedAt: time('when it was received'),
  lines: lines(
    object({
      stockId: id('the ID of the stock it was added to'),
      quantity: quantity('the quantity that arrived'),
    }),
    'the lines that were received',
  ),
});

/** A workflow ID has at most 1,000 bytes; the digest and a stock's part of a key need their share. */
const MAX_REFERENCE_BYTES = 900;

export const purchaseOrderReceived: Topic = {
  contract: event,
  examples: [
    { purchaseOrderId: 'PO-1', lines: [{ stockId: 'STK-1', quantity: '24' }] },
    { purchaseOrderId: 'PO-1', receiptId: 'R-1', lines: [{ stockId: 'STK-1', quantity: '12' }] },
  ],
  decode(value, record) {
    const { purchaseOrderId, receiptId, receivedAt, lines } = check(event, value, 'lines');
    const referenceId = purchaseOrderReferenceId(purchaseOrderId, receiptId ?? undefined);
    if (referenceKey('PURCHASE_ORDER', referenceId).length > MAX_REFERENCE_BYTES) {
      const problem = `${show(purchaseOrderId)} is, with the receipt's, too long once escaped`;
      throw new MessageFault('purchaseOrderId', problem, 'send shorter IDs');
    }
    if (lines.length === 0) return ignored('no-lines');
    const at = { field: 'receivedAt', time: receivedAt };
    return commanded(moveStock('PURCHASE_ORDER', referenceId, toLegs(lines, 'lines'), at, record));
  },
};
