/** Which missing records somebody accepted as lost. Append-only, like the ledger beside it. */
import { escapePart } from '../commands';
import type { Database, Long } from './models';

export interface RecordedGap {
  /** Group, topic, partition and span: accepting the same span again is no second acceptance. */
  _id: string;
  group: string;
  topic: string;
  partition: number;
  /** The offset that was next, and the one the group goes on from. */
  from: Long;
  next: Long;
  /** What was missing, as the bridge said it. */
  missing: string;
  actor: string;
  reason: string;
  at: Date;
}

const COLLECTION = 'inventory_accepted_gap';

/** @returns the gap as it stands there: somebody may have accepted it before */
export async function recordGap(database: Database, gap: Omit<RecordedGap, '_id'>): Promise<RecordedGap> {
  const { group, topic, partition, from, next } = gap;
  const _id = `${escapePart(group)}/${escapePart(topic)}/${partition}/${from.toString()}..${next.toString()}`;
  const gaps = database.connection.collection<RecordedGap>(COLLECTION);
  await gaps.updateOne(
    { _id },
    { $setOnInsert: gap },
    { upsert: true, writeConcern: { w: 'majority', journal: true } },
  );
  return (await gaps.findOne({ _id }, { readConcern: { level: 'majority' }, promoteLongs: false }))!;
}
