/** Check 3 of the audit: every transfer has both legs, and what left is what arrived. */
import Big from 'big.js';
import { signed } from './auditChain';
import type { AuditRun } from './audit';
import { inSnapshots } from './auditSnapshot';
import { readOnHand } from './decimals';
import { placeOf, type ArchivedEntry } from './archivedEntry';
import { entriesOf } from './ledger';
import type { Collection, Database, TrackingEntry } from './models';
import type { Session } from './transaction';

interface Leg {
  referenceId: string;
  inventoryStockId: string;
  delta: unknown;
}

const LEG_FIELDS = { referenceId: 1, inventoryStockId: 1, delta: 1 };
const TYPE = 'MATERIAL_TRANSFER';
const PREFIX = `${TYPE}/`;
/** The first text after everything that begins with the prefix: `0` follows `/`. */
const BEYOND = `${TYPE}0`;

/**
 * Reads the transfers' entries once, in key order: legs of one transfer lie side by side. What was archived was whole
 * when it was moved, and what was added since is whole in itself; `archived` looks at it again.
 */
export async function auditAllTransfers(database: Database, run: AuditRun, archived: boolean): Promise<void> {
  await auditInKeyOrder<TrackingEntry>(run, database, database.tracking, LEG_FIELDS, (entry) => entry);
  if (archived) await auditInKeyOrder<ArchivedEntry>(run, database, database.archive, { s: 1, d: 1 }, legOf);
}

function legOf({ _id, s, d }: ArchivedEntry): Leg {
  return { referenceId: placeOf(_id).referenceId, inventoryStockId: s, delta: d };
}

async function auditInKeyOrder<E extends { _id: string }>(
  run: AuditRun,
  database: Database,
  collection: Collection<E>,
  projection: object,
  toLeg: (entry: E) => Leg,
): Promise<void> {
  await inSnapshots<string>(database, async (session, from, isOld) => {
    const cursor = collection
      .find({ _id: { $gte: from ?? PREFIX, $lt: BEYOND } } as never, {
        session,
        projection,
        batchSize: 2_000,
      })
      .sort({ _id: 1 }) as unknown as AsyncIterable<E> & { close(): Promise<void> };
    let legs: Leg[] = [];
    try {
      for await (const entry of cursor) {
        const leg = toLeg(entry);
        if (legs.length > 0 && legs[0]!.referenceId !== leg.referenceId) {
          check(legs, run);
          legs = [];
          if (isOld()) return entry._id;
        }
        legs.push(leg);
      }
      check(legs, run);
      return undefined;
    } finally {
      await cursor.close();
    }
  });
}

/** The same for the transfers named. */
export async function auditTransfers(
  database: Database,
  run: AuditRun,
  referenceIds: string[],
  session: Session,
): Promise<void> {
  if (referenceIds.length === 0) return;
  const byReference = new Map<string, Leg[]>();
  const references = referenceIds.map((id) => ({ referenceType: TYPE, referenceId: id }) as const);
  for (const leg of await entriesOf(database, references, { session })) {
    if (leg.referenceType !== TYPE) continue;
    const legs = byReference.get(leg.referenceId);
    if (legs) legs.push(leg);
    else byReference.set(leg.referenceId, [leg]);
  }
  for (const legs of byReference.values()) check(legs, run);
}

function check(legs: readonly Leg[], run: AuditRun): void {
  try {
    // All entries without effect: parked or refused, nothing has moved.
    if (legs.every(({ delta }) => readOnHand(delta).eq(0))) return;
  } catch {
    return; // The chain's check names the entry.
  }
  run.countTransfer();
  const fault = transferFault(legs);
  if (!fault) return;
  const key = `MATERIAL_TRANSFER ${legs[0]!.referenceId}`;
  const moved = legs.map((leg) => `${leg.inventoryStockId} ${signed(readOnHand(leg.delta))}`).join(', ');
  run.report({
    check: 'transfer',
    problem: fault.problem,
    key,
    text:
      fault.problem === 'one-leg' ? `has only the leg ${moved}` : `sums to ${signed(fault.sum)}: ${moved}`,
  });
}

/**
 * What is wrong with the legs of a transfer, all attempts together.
 * @throws TypeError when a quantity is no number
 */
export function transferFault(
  legs: readonly Pick<Leg, 'inventoryStockId' | 'delta'>[],
): { problem: 'one-leg' | 'unbalanced'; sum: Big } | undefined {
  const moving = legs.filter(({ delta }) => !readOnHand(delta).eq(0));
  if (moving.length === 0) return undefined;
  const sum = moving.reduce((so, { delta }) => so.plus(readOnHand(delta)), new Big(0));
  if (new Set(moving.map((leg) => leg.inventoryStockId)).size === 1) return { problem: 'one-leg', sum };
  return sum.eq(0) ? undefined : { problem: 'unbalanced', sum };
}
