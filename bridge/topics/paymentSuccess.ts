/**
 * PAYMENT_SUCCESS: a paid order takes its lines from stock, keyed by (SALE_ORDER, saleOrderId, stockId).
 */
import { check, id, lines, object, quantity, time } from './fields';
import { moveStock, toLegs } from './legs';
import { commanded, ignored, type Topic } from './topic';

const event = object({
  saleOrderId: id('the ID of the sale order'),
  paidAt: time('when it was paid'),
  lines: lines(
    object({
      stockId: id('the ID of the stock it was sold from'),
      quantity: quantity('the quantity that was sold'),
    }),
    'the lines that were sold',
  ),
});

export const paymentSuccess: Topic = {
  contract: event,
  examples: [
    {
      saleOrderId: 'SO-1',
      paidAt: '2026-01-31T12:00:00Z',
      lines: [
        { stockId: 'STK-1', quantity: '2' },
        { stockId: 'STK-2', quantity: 0.5 },
      ],
    },
  ],
  decode(value, record) {
    const { saleOrderId, paidAt, lines } = check(event, value, 'lines');
    // Legal: an order of vouchers or services. A list that is missing is a fault, because it may be forgotten.
    if (lines.length === 0) return ignored('no-lines');
    const sold = lines.map(({ stockId, quantity }) => ({ stockId, quantity: quantity.neg() }));
    const at = { field: 'paidAt', time: paidAt };
    return commanded(moveStock('SALE_ORDER', saleOrderId, toLegs(sold, 'lines'), at, record));
  },
};
