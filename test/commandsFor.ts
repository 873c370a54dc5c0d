/** Commands as tests need them. */
import type { MoveStock, ReferenceType } from '../commands';
import type { Posting } from '../activities/judge';

let nextOffset = 0;

/** `order('SO-1', { 'STK-1': '-2' })` */
export function order(
  referenceId: string,
  legs: Record<string, string>,
  more: Partial<MoveStock> & { referenceType?: ReferenceType } = {},
): MoveStock {
  return {
    schema: 1,
    referenceType: 'SALE_ORDER',
    referenceId,
    legs: Object.entries(legs)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([inventoryStockId, delta]) => ({ inventoryStockId, delta })),
    occurredAt: '2026-11-01T12:00:00.000Z',
    source: { topic: 'PAYMENT_SUCCESS', partition: 0, offset: String(nextOffset++) },
    ...more,
  };
}

/** A transfer of these legs. */
export function transfer(referenceId: string, legs: Record<string, string>): MoveStock {
  return order(referenceId, legs, { referenceType: 'MATERIAL_TRANSFER' });
}

/** The command as a workflow run of its own would post it. */
export function posting(command: MoveStock, runId = `run-${nextOffset++}`): Posting {
  return { command, workflowId: `workflow of ${command.referenceId}`, runId };
}
