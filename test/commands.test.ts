/** Keys and IDs are kept for ever in ledger and history: what is frozen here must never change. */
import fc from 'fast-check';
import {
  defaultLocationId,
  defaultStockId,
  ensureDefaultLocationWorkflowId,
  ensureInventoryItemWorkflowId,
  legsDigest,
  MAX_ID_BYTES,
  moveStockWorkflowId,
  purchaseOrderReferenceId,
  REFERENCE_TYPES,
  referenceKey,
  reopenedWorkflowId,
  trackingId,
  workflowIdOf,
  type Leg,
} from '../commands';

const legs: Leg[] = [
  { inventoryStockId: 'STK-1', delta: '-2' },
  { inventoryStockId: 'STK-2', delta: '-0.5' },
];

/** IDs as people and attackers make them: the separators of every key, escapes, accents in both normal forms. */
const anyId = fc.oneof(
  fc.string({
    unit: fc.constantFrom('/', '%', '#', '@', '2', '5', 'F', '4', '0', '3', 'A', 'é', 'e\u0301'),
    minLength: 1,
    maxLength: 6,
  }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
);

/** Fails when two different inputs give one output, or one input two. */
function expectInjective<Input>(inputs: fc.Arbitrary<Input>, key: (input: Input) => string) {
  fc.assert(
    fc.property(inputs, inputs, (a, b) => {
      expect(key(a) === key(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
    }),
    { numRuns: 2_000 },
  );
}

describe('every form of key and ID is frozen', () => {
  test.each([
    [referenceKey('SALE_ORDER', 'SO-1'), 'SALE_ORDER/SO-1'],
    [referenceKey('ADJUSTMENT', 'a/b%c d'), 'ADJUSTMENT/a%2Fb%25c%20d'],
    [trackingId('SALE_ORDER', 'SO-1', 'STK-1'), 'SALE_ORDER/SO-1/STK-1'],
    [trackingId('SALE_ORDER', 'SO-1', 'espresso@cafe-luna'), 'SALE_ORDER/SO-1/espresso@cafe-luna'],
    [trackingId('KITCHEN_TICKET_ITEM', 'KTI-1', 'STK-7', 2), 'KITCHEN_TICKET_ITEM/KTI-1/STK-7/2'],
    [trackingId('PURCHASE_ORDER', 'PO-1#R-1', 'STK-1'), 'PURCHASE_ORDER/PO-1#R-1/STK-1'],
    [legsDigest(legs), '8548335d08f1d006a5b54a1c6fb43c8c'],
    [
      moveStockWorkflowId({ referenceType: 'MATERIAL_TRANSFER', referenceId: 'T-1', legs }),
      'MATERIAL_TRANSFER/T-1/8548335d08f1d006a5b54a1c6fb43c8c',
    ],
    [
      reopenedWorkflowId({ referenceType: 'MATERIAL_TRANSFER', referenceId: 'T-1', legs }, 2),
      'MATERIAL_TRANSFER/T-1/8548335d08f1d006a5b54a1c6fb43c8c/2',
    ],
    [ensureDefaultLocationWorkflowId({ merchantId: 'café/1' }), 'MERCHANT/caf%C3%A9%2F1'],
    [ensureInventoryItemWorkflowId({ variantId: 'v/1', merchantId: 'm' }), 'PRODUCT_VARIANT/v%2F1/m'],
    [defaultLocationId('cafe/luna'), 'cafe%2Fluna/default'],
    [defaultStockId('espresso', 'cafe-luna'), 'espresso@cafe-luna'],
    [defaultStockId('a@b%', 'c@d'), 'a%40b%25@c%40d'],
    [purchaseOrderReferenceId('PO-1'), 'PO-1'],
    [purchaseOrderReferenceId('PO-1', 'R-1'), 'PO-1#R-1'],
    [purchaseOrderReferenceId('PO-1#R-1'), 'PO-1%23R-1'],
  ])('%s', (made, frozen) => {
    expect(made).toBe(frozen);
  });

  test('workflowIdOf gives each command the form of its type', () => {
    const source = { topic: 't', partition: 0, offset: '0' };
    const move = {
      schema: 1,
      referenceType: 'SALE_ORDER',
      referenceId: 'SO-1',
      legs,
      occurredAt: '',
      source,
    } as const;
    expect(workflowIdOf({ type: 'moveStock', input: move })).toBe(moveStockWorkflowId(move));
    expect(
      workflowIdOf({ type: 'ensureDefaultLocation', input: { schema: 1, merchantId: 'm', source } }),
    ).toBe('MERCHANT/m');
    expect(
      workflowIdOf({
        type: 'ensureInventoryItem',
        input: { schema: 1, variantId: 'v', merchantId: 'm', source },
      }),
    ).toBe('PRODUCT_VARIANT/v/m');
  });
});

describe('two different things never share a key', () => {
  const reference = fc.tuple(fc.constantFrom(...REFERENCE_TYPES), anyId);

  test('tracking entries: type, reference, stock and attempt', () => {
    const entry = fc.tuple(reference, anyId, fc.integer({ min: 1, max: 12 }));
    expectInjective(entry, ([[type, id], stock, attempt]) => trackingId(type, id, stock, attempt));
  });

  test('moveStock workflow IDs: type, reference and legs', () => {
    const leg = fc.record({ inventoryStockId: anyId, delta: fc.constantFrom('1', '-1', '2.5', '-2.5') });
    const command = fc.record({
      referenceType: fc.constantFrom(...REFERENCE_TYPES),
      referenceId: anyId,
      legs: fc.array(leg, { minLength: 1, maxLength: 3 }),
    });
    expectInjective(command, moveStockWorkflowId);
  });

  test('items by variant and merchant, as workflow ID and as stock ID', () => {
    const pair = fc.tuple(anyId, anyId);
    expectInjective(pair, ([variantId, merchantId]) =>
      ensureInventoryItemWorkflowId({ variantId, merchantId }),
    );
    expectInjective(pair, ([variantId, merchantId]) => defaultStockId(variantId, merchantId));
  });

  test('purchase orders and their receipts', () => {
    const order = fc.tuple(anyId, fc.option(anyId, { nil: undefined }));
    expectInjective(order, ([orderId, receiptId]) => purchaseOrderReferenceId(orderId, receiptId));
  });

  test('the normal forms of one accented text stay two IDs', () => {
    expect(trackingId('SALE_ORDER', 'é', 's')).not.toBe(trackingId('SALE_ORDER', 'e\u0301', 's'));
  });
});

test('no ID starts or ends a part of another kind: only separators of the form itself stand unescaped', () => {
  fc.assert(
    fc.property(anyId, anyId, (id, stock) => {
      expect(trackingId('SALE_ORDER', id, stock).split('/')).toHaveLength(3);
      expect(trackingId('SALE_ORDER', id, stock)).toMatch(/^[\x21-\x7e]+$/);
    }),
  );
});

test('two IDs of the greatest length fit, escaped, into a workflow ID of 1,000 bytes', () => {
  const longest = '%'.repeat(MAX_ID_BYTES);
  expect(ensureInventoryItemWorkflowId({ variantId: longest, merchantId: longest }).length).toBeLessThan(
    1_000,
  );
  expect(
    moveStockWorkflowId({ referenceType: 'KITCHEN_TICKET_ITEM', referenceId: longest, legs }).length,
  ).toBeLessThan(1_000);
});
