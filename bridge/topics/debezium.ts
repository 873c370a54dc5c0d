/**
 * From a record of a Debezium topic to the row it tells of, or the reason why it tells of none. Sources: Debezium's
 * pages on the PostgreSQL, MySQL and MongoDB connectors (change events, transaction metadata, heartbeats, schema
 * changes) and on the transformation "New record state extraction".
 */
import { z } from 'zod';
import { decodeStruct, fieldSchema } from './connectSchema';
import { decodeExtendedJson } from './extendedJson';
import { MessageFault, show } from './fault';
import { object } from './fields';
import { field, isObject, parseBytes, parseText, type Json, type JsonObject } from './json';
import type { Row, RowValue } from './rowValue';
import type { IgnoredReason, KafkaRecord } from './topic';

/** A row that was created, changed or read, or why there is none. */
export type Change = { ignored: IgnoredReason } | { row: Row; form: RowForm };

/**
 * Where the row came from: `document` and `changed-fields` from MongoDB (the second holds only the `_id` and what an
 * update set), the others from a relational connector, with or without a schema that describes the columns.
 */
export type RowForm = 'document' | 'changed-fields' | 'described' | 'undescribed';

const EXPECTED =
  "send the connector's envelope (op, before, after), or a flattened row with its operation (add.fields=op)";

const OPERATIONS: Record<string, 'row' | IgnoredReason> = {
  c: 'row',
  u: 'row',
  r: 'row',
  d: 'delete',
  t: 'truncate',
  m: 'message',
};

/**
 * Unwraps a change event, with or without the `{schema, payload}` wrapper, and decodes its row.
 * @throws MessageFault when it is no change event, or lacks the row its operation promises
 */
export function readChange(event: Json, record: KafkaRecord): Change {
  const { schema, payload } = unwrap(event);
  if (payload === null) return { ignored: 'tombstone' };
  if (!isObject(payload)) throw new MessageFault('value', `${show(payload)} is no change event`, EXPECTED);
  if (field(payload, 'op') !== undefined) return readEnvelope(payload, schema, record);
  const aside = besides(payload);
  return aside === undefined ? readFlattened(payload, schema) : { ignored: aside };
}

/** The envelope as published. Sources of the values of `op`: see above. */
export function envelopeContract(row: z.ZodType) {
  const envelope = object({
    op: z.enum(['c', 'u', 'r', 'd', 't', 'm']).meta({
      description: 'c, u and r (created, updated, read by a snapshot) ensure; d, t and m are ignored',
    }),
    before: z.unknown().optional(),
    after: z
      .union([row, z.string(), z.null()])
      .optional()
      .meta({ description: "The row, or MongoDB's document as extended JSON in a string" }),
  });
  const wrapped = object({ schema: z.unknown(), payload: envelope });
  const flattened = z.intersection(row, object({ __op: z.enum(['c', 'u', 'r', 'd']) }));
  return z.union([envelope, wrapped, flattened]);
}

function unwrap(event: Json): { schema: Json | undefined; payload: Json } {
  if (!isObject(event) || !Object.hasOwn(event, 'payload') || !Object.hasOwn(event, 'schema')) {
    return { schema: undefined, payload: event };
  }
  return { schema: field(event, 'schema'), payload: field(event, 'payload') ?? null };
}

function readEnvelope(payload: JsonObject, schema: Json | undefined, record: KafkaRecord): Change {
  const meaning = meaningOf('op', field(payload, 'op'));
  if (meaning !== 'row') return { ignored: meaning };
  const after = field(payload, 'after') ?? null;
  if (typeof after === 'string') {
    const row = decodeExtendedJson(parseText(after, 'after'));
    if (row instanceof Map) return { row, form: 'document' };
  }
  if (isObject(after)) return describedRow(after, fieldSchema(schema, 'after'));
  if (after === null && field(payload, 'op') === 'u' && isMongo(payload))
    return readChangedFields(payload, record);
  throw new MessageFault('after', `${show(after)} is no row`, EXPECTED);
}

function meaningOf(name: string, operation: Json | undefined): 'row' | IgnoredReason {
  const meaning =
    typeof operation === 'string' && Object.hasOwn(OPERATIONS, operation) ? OPERATIONS[operation] : undefined;
  if (meaning !== undefined) return meaning;
  throw new MessageFault(
    name,
    `${show(operation)} is no operation of a change event`,
    'send c, u, r, d, t or m',
  );
}

/** What Debezium writes beside change events; it may land in the same topic when topics are routed together. */
function besides(payload: JsonObject): IgnoredReason | undefined {
  const names = Object.keys(payload);
  const status = field(payload, 'status');
  if (
    (status === 'BEGIN' || status === 'END') &&
    typeof field(payload, 'id') === 'string' &&
    !hasOperation(payload)
  ) {
    return Object.hasOwn(payload, 'event_count') || names.every((name) => MARKER_FIELDS.includes(name))
      ? 'transaction-marker'
      : undefined;
  }
  if (names.length > 0 && names.every((name) => HEARTBEAT_FIELDS.includes(name))) return 'heartbeat';
  if (
    field(payload, 'source') !== undefined &&
    ['ddl', 'tableChanges'].some((name) => names.includes(name))
  ) {
    return 'schema-change';
  }
  return undefined;
}

const MARKER_FIELDS = ['status', 'id', 'ts_ms', 'ts_us', 'ts_ns'];
const HEARTBEAT_FIELDS = ['ts_ms', 'ts_us', 'ts_ns'];

/**
 * The row itself, as "New record state extraction" leaves it. Accepted only with the operation or the deletion mark
 * that the transformation adds: other messages have an `id` too (a CloudEvent's names a log position), and would
 * create what does not exist.
 */
function readFlattened(payload: JsonObject, schema: Json | undefined): Change {
  if (!hasOperation(payload)) throw new MessageFault('op', 'missing', EXPECTED);
  const deleted = field(payload, '__deleted');
  if (deleted === true || deleted === 'true') return { ignored: 'delete' };
  const operation = field(payload, '__op');
  const meaning = operation === undefined ? 'row' : meaningOf('__op', operation);
  return meaning === 'row' ? describedRow(payload, schema) : { ignored: meaning };
}

function hasOperation(payload: JsonObject): boolean {
  return Object.hasOwn(payload, '__op') || Object.hasOwn(payload, '__deleted');
}

function describedRow(row: JsonObject, schema: Json | undefined): Change {
  return { row: decodeStruct(schema, row), form: isObject(schema) ? 'described' : 'undescribed' };
}

function isMongo(payload: JsonObject): boolean {
  const source = field(payload, 'source');
  const connector = isObject(source) ? field(source, 'connector') : undefined;
  return connector === 'mongodb' || isObject(field(payload, 'updateDescription'));
}

/**
 * A MongoDB update without the document: its `_id` is in the record's key, what it set in `updatedFields`. That is
 * enough to ensure a merchant, and a variant that has moved to another one.
 */
function readChangedFields(payload: JsonObject, record: KafkaRecord): Change {
  const id = record.key === null ? undefined : documentId(record.key);
  if (id === undefined) return { ignored: 'update-without-row' };
  const update = field(payload, 'updateDescription');
  const updated = isObject(update) ? (field(update, 'updatedFields') ?? null) : null;
  const fields = typeof updated === 'string' ? decodeExtendedJson(parseText(updated, 'updatedFields')) : null;
  return { row: new Map([...(fields instanceof Map ? fields : []), ['_id', id]]), form: 'changed-fields' };
}

/** `{"id": "{\"$oid\": …}"}`: JSON in JSON. A key in any other form belongs to another converter: no ID is known. */
function documentId(key: Buffer): RowValue | undefined {
  try {
    const { payload } = unwrap(parseBytes(key, 'key'));
    const id = isObject(payload) ? field(payload, 'id') : undefined;
    return typeof id === 'string' ? decodeExtendedJson(parseText(id, 'key.id')) : undefined;
  } catch (error) {
    if (error instanceof MessageFault) return undefined;
    throw error;
  }
}
