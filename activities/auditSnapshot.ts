/** Long reads that see one moment at a time, while others write. */
import type { Database } from './models';
import type { Session } from './transaction';

/** MongoDB keeps five minutes of history by default; a snapshot older than that can no longer be read. */
const SNAPSHOT_MS = 60_000;

/**
 * Reads on in fresh snapshots until `work` has nothing left. Within a snapshot stock and ledger stand as of one
 * moment, so that an audit under traffic raises no false alarm.
 * @param work reads from a position (undefined: the beginning) and returns where to go on once `isOld()`, at a
 * place where nothing read before is needed; undefined when it is through
 */
export async function inSnapshots<Position>(
  database: Database,
  work: (session: Session, from: Position | undefined, isOld: () => boolean) => Promise<Position | undefined>,
  snapshotMs = SNAPSHOT_MS,
): Promise<void> {
  let from: Position | undefined;
  do {
    const until = Date.now() + snapshotMs;
    const session = await database.connection.startSession({ snapshot: true });
    try {
      from = await work(session, from, () => Date.now() > until);
    } finally {
      await session.endSession();
    }
  } while (from !== undefined);
}

/** Order of MongoDB's strings: bytes of UTF-8, which differs from JavaScript's for some characters. */
export function compareIds(a: string, b: string): number {
  if (a === b) return 0;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
