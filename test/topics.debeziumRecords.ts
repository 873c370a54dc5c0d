/** Change events of PostgreSQL, MySQL and MongoDB connectors, written after Debezium's public documentation. */
import { createDecoder, type Decoded, type KafkaRecord } from '../bridge/topics';

export const topics = {
  PAYMENT_SUCCESS: 'paid',
  KITCHEN_TICKET_ITEM_STATUS_CHANGED: 'kitchen',
  MATERIAL_TRANSFERRED: 'moved',
  PURCHASE_ORDER_RECEIVED: 'received',
  MERCHANT: 'merchants',
  PRODUCT_VARIANT: 'variants',
};
export const decode = createDecoder({ topics, consumingStatuses: ['READY'], maxEventBytes: 262_144 });
export const source = { topic: 'merchants', partition: 1, offset: '9' };

export function record(topic: string, value: unknown, key: unknown = null): KafkaRecord {
  const bytes = (json: unknown) =>
    json === null ? null : Buffer.from(typeof json === 'string' ? json : JSON.stringify(json));
  return {
    topic,
    partition: 1,
    offset: '9',
    timestamp: '1769860800000',
    key: bytes(key),
    value: bytes(value),
  };
}
export const onMerchants = (value: unknown, key?: unknown) => decode(record('merchants', value, key));
export const onVariants = (value: unknown, key?: unknown) => decode(record('variants', value, key));

export const ensuresMerchant = (merchantId: string): Decoded => ({
  became: 'command',
  command: { type: 'ensureDefaultLocation', input: { schema: 1, merchantId, source } },
});
export const ensuresItem = (variantId: string, merchantId: string): Decoded => ({
  became: 'command',
  command: {
    type: 'ensureInventoryItem',
    input: { schema: 1, variantId, merchantId, source: { ...source, topic: 'variants' } },
  },
});
export const ignores = (reason: string) => ({ became: 'ignored', reason });
export function refusal(decoded: Decoded): string {
  if (decoded.became !== 'dead-letter')
    throw new Error(`expected a dead letter, got ${JSON.stringify(decoded)}`);
  return decoded.reason;
}

export const postgres = (op: string, after: unknown, before: unknown = null) => ({
  before,
  after,
  source: {
    version: '3.0.0.Final',
    connector: 'postgresql',
    name: 'shop',
    ts_ms: 1769860800000,
    schema: 'public',
    lsn: 34,
  },
  transaction: null,
  op,
  ts_ms: 1769860800500,
  ts_us: 1769860800500123,
});
export const mysql = (op: string, after: unknown) => ({
  ...postgres(op, after),
  source: { connector: 'mysql', file: 'bin.3', pos: 154 },
});
export const mongo = (op: string, after: unknown, more: object = {}) => ({
  after,
  updateDescription: null,
  source: { connector: 'mongodb', db: 'shop', rs: 'rs0', collection: 'variants', ord: 31 },
  op,
  ts_ms: 1769860800500,
  ...more,
});
export const wrapped = (payload: object, ...columns: object[]) => ({
  schema: {
    type: 'struct',
    fields: ['before', 'after'].map((field) => ({
      type: 'struct',
      optional: true,
      name: 'shop.Value',
      field,
      fields: columns,
    })),
    optional: false,
    name: 'shop.Envelope',
  },
  payload,
});
export const decimalColumn = (field: string, scale: string) => ({
  type: 'bytes',
  name: 'org.apache.kafka.connect.data.Decimal',
  version: 1,
  parameters: { scale, 'connect.decimal.precision': '20' },
  field,
});
