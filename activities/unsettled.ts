/** What of a reference has no effect on stock: versions of the document that are parked or refused. */
import { REFERENCE_TYPES, type MoveStock, type ReferenceType } from '../commands';
import type { Decided } from '../decisions';
import { asks, decidedOf, readAttempts, recordedBy, recordedResult, type Attempt } from './attempts';
import { fromDecimal128 } from './decimals';
import { entriesOf, type Reference } from './ledger';
import type { Database, TrackingEntry } from './models';

/** A version of a document, from its latest attempt. */
export interface Unsettled {
  attempt: number;
  outcome: 'PARKED' | 'REFUSED';
  /** The command as it was asked. */
  command: MoveStock;
  /** Parked, or was refused, in this workflow. */
  workflowId: string;
  recordedAt: string;
  decided?: Decided;
}

/** Takes a reference such as `SALE_ORDER/SO-1` apart; undefined when it is none. */
export function parseReference(
  reference: string,
): { referenceType: ReferenceType; referenceId: string } | undefined {
  const [type, id, ...rest] = reference.split('/');
  const referenceType = REFERENCE_TYPES.find((known) => known === type);
  if (!referenceType || !id || rest.length > 0) return undefined;
  try {
    return { referenceType, referenceId: decodeURIComponent(id) };
  } catch {
    return undefined;
  }
}

/** The versions of a document that are parked or refused now, oldest first. */
export async function findUnsettled(database: Database, reference: Reference): Promise<Unsettled[]> {
  const durable = { readConcern: { level: 'majority' }, readPreference: 'primary' } as const;
  const entries = await entriesOf(database, [reference], durable);
  return unsettledAmong(entries.filter(({ referenceType }) => referenceType === reference.referenceType));
}

/** The same, from all entries of the document. */
export function unsettledAmong(entries: readonly TrackingEntry[]): Unsettled[] {
  const attempts = readAttempts(entries);
  return attempts.flatMap((attempt): Unsettled[] => {
    if (attempt.outcome === 'APPLIED') return [];
    const command = commandOf(attempt);
    // Only the latest attempt of this content counts, unless the content has got its effect by now.
    if (attempts.findLast((later) => asks(later, command.legs)) !== attempt) return [];
    if (recordedResult({ command, workflowId: '', runId: '' }, entries)?.outcome === 'DUPLICATE') return [];
    const of = recordedBy(attempt);
    const decided = decidedOf(attempt);
    return [
      {
        attempt: attempt.number,
        outcome: attempt.outcome,
        command,
        workflowId: of.workflowId,
        recordedAt: of.recordedAt,
        ...(decided ? { decided } : {}),
      },
    ];
  });
}

function commandOf(attempt: Extract<Attempt, { outcome: 'PARKED' | 'REFUSED' }>): MoveStock {
  const { referenceType, referenceId, occurredAt } = attempt.entries[0]!;
  return {
    schema: 1,
    referenceType,
    referenceId,
    legs: attempt.entries.map(({ inventoryStockId, asked }) => ({
      inventoryStockId,
      delta: fromDecimal128(asked).toFixed(),
    })),
    occurredAt: occurredAt.toISOString(),
    source: recordedBy(attempt).source,
  };
}
