/** Check 3 of the audit: every transfer has both legs, and what left is what arrived. */
import Big from 'big.js';
import { signed } from './auditChain';
import type { AuditRun } from './audit';
import { inSnapshots } from './auditSnapshot';
import { readOnHand } from './decimals';
import type { Database } from './models';
import type { Session } from './transaction';

interface Leg {
  referenceId: string;
  inventoryStockId: string;
  delta: unknown;
}

const LEG_FIELDS = { referenceId: 1, inventoryStockId: 1, delta: 1 };
const PREFIX = 'MATERIAL_TRANSFER/';
/** The first text after everything that begins with the prefix: `0` follows `/`. */
const BEYOND = 'MATERIAL_TRANSFER0';

/** Reads the transfers' entries once, in key order: legs of one transfer lie side by side. */
export async function auditAllTransfers(database: Database, run: AuditRun): Promise<void> {
  await inSnapshots<string>(database, async (session, from, isOld) => {
    const cursor = database.tracking
      .find(
        { _id: { $gte: from ?? PREFIX, $lt: BEYOND } },
        { session, projection: LEG_FIELDS, batchSize: 2_000 },
      )
      .sort({ _id: 1 });
    let legs: Leg[] = [];
    try {
      for await (const leg of cursor) {
        if (legs.length > 0 && legs[0]!.referenceId !== leg.referenceId) {
          check(legs, run);
          legs = [];
          if (isOld()) return leg._id;
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
  const entries = database.tracking.find(
    { referenceId: { $in: referenceIds }, referenceType: 'MATERIAL_TRANSFER' },
    { session, projection: LEG_FIELDS },
  );
  for await (const leg of entries) {
    const legs = byReference.get(leg.referenceId);
    if (legs) legs.push(leg);
    else byReference.set(leg.referenceId, [leg]);
  }
  for (const legs of byReference.values()) check(legs, run);
}

function check(legs: readonly Leg[], run: AuditRun): void {
  const stocks = new Set<string>();
  let sum = new Big(0);
  try {
    for (const leg of legs) {
      const delta = readOnHand(leg.delta);
      sum = sum.plus(delta);
      if (!delta.eq(0)) stocks.add(leg.inventoryStockId);
    }
  } catch {
    return; // The chain's check names the entry.
  }
  // All entries without effect: parked or refused, nothing has moved.
  if (stocks.size === 0) return;
  run.countTransfer();
  if (stocks.size > 1 && sum.eq(0)) return;
  const key = `MATERIAL_TRANSFER ${legs[0]!.referenceId}`;
  const moved = legs.map((leg) => `${leg.inventoryStockId} ${signed(readOnHand(leg.delta))}`).join(', ');
  run.report(
    stocks.size === 1
      ? { check: 'transfer', problem: 'one-leg', key, text: `has only the leg ${moved}` }
      : { check: 'transfer', problem: 'unbalanced', key, text: `sums to ${signed(sum)}: ${moved}` },
  );
}
