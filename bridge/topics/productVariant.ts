/**
 * ProductVariant CDC: a variant that was created, changed or read has its item ensured, and its stock at its
 * merchant's default location.
 */
import { defaultStockId, MAX_ID_BYTES } from '../../commands';
import { MessageFault, show } from './fault';
import { envelopeContract, readChange } from './debezium';
import { sourceOf } from './legs';
import { primaryKey, rowId, rowContract } from './rowId';
import { commanded, ignored, type Topic } from './topic';

const PRIMARY_KEY = "the variant's primary key";
const MERCHANT = "the primary key of the variant's merchant";

export const productVariant: Topic = {
  contract: envelopeContract(
    rowContract(
      { names: ['id', '_id'], what: PRIMARY_KEY },
      { names: ['merchantId', 'merchant_id'], what: MERCHANT },
    ),
  ),
  examples: [
    {
      op: 'c',
      before: null,
      after: { id: 'espresso', merchantId: 'cafe-luna' },
      source: { connector: 'mysql' },
    },
    { op: 'u', after: '{"_id": "espresso", "merchantId": "cafe-luna"}', source: { connector: 'mongodb' } },
  ],
  nullValue: 'tombstone',
  decode(event, record) {
    const change = readChange(event, record);
    if ('ignored' in change) return ignored(change.ignored);
    const { row } = change;
    if (row.has('merchantId') && row.has('merchant_id')) {
      throw new MessageFault('merchant_id', 'stands beside merchantId', 'send one of them');
    }
    const variant = rowId(change, primaryKey(change), PRIMARY_KEY);
    if ('ignored' in variant) return ignored(variant.ignored);
    const merchant = rowId(change, row.has('merchant_id') ? 'merchant_id' : 'merchantId', MERCHANT);
    if ('ignored' in merchant) return ignored(merchant.ignored);
    refuseUnusableStock(variant.id, merchant.id);
    return commanded({
      type: 'ensureInventoryItem',
      input: { schema: 1, variantId: variant.id, merchantId: merchant.id, source: sourceOf(record) },
    });
  },
};

/** A stock whose ID is longer than any event may name could never be sold from; better said now. */
function refuseUnusableStock(variantId: string, merchantId: string): void {
  const stockId = defaultStockId(variantId, merchantId);
  const bytes = Buffer.byteLength(stockId);
  if (bytes <= MAX_ID_BYTES) return;
  const problem = `${show(variantId)} makes, with its merchant, a stock ID of ${bytes} bytes, more than ${MAX_ID_BYTES}`;
  throw new MessageFault('id', problem, 'use shorter keys');
}
