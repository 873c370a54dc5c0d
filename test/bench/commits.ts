/**
 * When each event was committed, from MongoDB's own log of operations: one clock for every contender, and nobody is
 * slowed down by being watched.
 */
import type mongoose from 'mongoose';
import type { Database } from '../../activities/models';

interface LoggedTransaction {
  wall: Date;
  o: { applyOps: { ns: string; op: string; o: { referenceId?: string } }[] };
}

/** The place in the log from which to read later. */
export async function logPosition(database: Database): Promise<mongoose.mongo.Timestamp> {
  const [last] = await oplog(database).find().sort({ $natural: -1 }).limit(1).project({ ts: 1 }).toArray();
  return (last as { ts: mongoose.mongo.Timestamp }).ts;
}

/** Commit time in epoch milliseconds of every reference that was inserted into the ledger since. */
export async function commitsSince(
  database: Database,
  position: mongoose.mongo.Timestamp,
): Promise<Map<string, number>> {
  const ns = `${database.connection.name}.inventory_tracking`;
  const transactions = oplog(database)
    .find({ ts: { $gt: position }, 'o.applyOps.ns': ns })
    .project<LoggedTransaction>({
      wall: 1,
      'o.applyOps.ns': 1,
      'o.applyOps.op': 1,
      'o.applyOps.o.referenceId': 1,
    });
  const commits = new Map<string, number>();
  for await (const { wall, o } of transactions) {
    for (const operation of o.applyOps) {
      const reference = operation.o.referenceId;
      if (operation.ns === ns && operation.op === 'i' && reference !== undefined) {
        commits.set(reference, wall.getTime());
      }
    }
  }
  return commits;
}

function oplog(database: Database) {
  return database.connection.getClient().db('local').collection('oplog.rs');
}

/** Events per second after the first commit: what the first transaction carried had no measured beginning. */
export function rateOf(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  const [first, last] = [sorted[0] ?? NaN, sorted.at(-1) ?? NaN];
  return sorted.filter((time) => time > first).length / ((last - first) / 1_000);
}
