/**
 * KITCHEN_TICKET_ITEM_STATUS_CHANGED: the first consuming status takes the item's materials from stock, keyed by
 * (KITCHEN_TICKET_ITEM, kitchenTicketItemId, materialStockId); the ledger knows the later ones as duplicates.
 */
import { z } from 'zod';
import { check, id, lines, object, quantity, time } from './fields';
import { moveStock, toLegs } from './legs';
import { commanded, ignored, type Topic } from './topic';

const status = object({
  kitchenTicketItemId: id('the ID of the kitchen ticket item'),
  status: id('the status it changed to'),
});

const consumption = object({
  changedAt: time('when the status changed'),
  materials: lines(
    object({
      materialStockId: id('the ID of the stock the material is taken from'),
      quantity: quantity('the quantity that is consumed'),
    }),
    'the materials the item consumes',
  ),
});

export const kitchenTicketItemStatusChanged: Topic = {
  // Optional here, because only consuming statuses need materials, and which those are is a setting.
  contract: z.object({
    ...status.shape,
    changedAt: consumption.shape.changedAt,
    materials: consumption.shape.materials.optional().meta({
      description: 'Needed with a status that consumes; an empty list says that none of them is tracked',
    }),
  }),
  examples: [
    {
      kitchenTicketItemId: 'KTI-1',
      status: 'PREPARING',
      materials: [{ materialStockId: 'STK-7', quantity: '0.25' }],
    },
    { kitchenTicketItemId: 'KTI-1', status: 'CANCELLED' },
  ],
  decode(value, record, { consumingStatuses }) {
    const item = check(status, value);
    // Before the materials are looked at: a cancelled item may well come without.
    if (!consumingStatuses.includes(item.status)) return ignored('status-does-not-consume');
    const { changedAt, materials } = check(consumption, value, 'materials');
    // Legal: a dish whose recipe holds nothing that is tracked.
    if (materials.length === 0) return ignored('no-materials');
    const consumed = materials.map((line) => ({
      stockId: line.materialStockId,
      quantity: line.quantity.neg(),
    }));
    const at = { field: 'changedAt', time: changedAt };
    const legs = toLegs(consumed, 'materials');
    return commanded(moveStock('KITCHEN_TICKET_ITEM', item.kitchenTicketItemId, legs, at, record));
  },
};
