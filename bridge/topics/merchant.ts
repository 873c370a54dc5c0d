/**
 * Merchant CDC: a merchant that was created, changed or read has its default location ensured.
 */
import { envelopeContract, readChange } from './debezium';
import { sourceOf } from './legs';
import { primaryKey, rowId, rowContract } from './rowId';
import { commanded, ignored, type Topic } from './topic';

const PRIMARY_KEY = "the merchant's primary key";

export const merchant: Topic = {
  contract: envelopeContract(rowContract({ names: ['id', '_id'], what: PRIMARY_KEY })),
  examples: [
    { op: 'c', before: null, after: { id: 'cafe-luna' }, source: { connector: 'postgresql' } },
    { op: 'r', after: '{"_id": {"$oid": "596e275826f08b2730779e1f"}}', source: { connector: 'mongodb' } },
  ],
  nullValue: 'tombstone',
  decode(event, record) {
    const change = readChange(event, record);
    if ('ignored' in change) return ignored(change.ignored);
    const merchant = rowId(change, primaryKey(change), PRIMARY_KEY);
    if ('ignored' in merchant) return ignored(merchant.ignored);
    return commanded({
      type: 'ensureDefaultLocation',
      input: { schema: 1, merchantId: merchant.id, source: sourceOf(record) },
    });
  },
};
