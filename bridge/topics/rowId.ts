/**
 * IDs out of rows: one text form, whatever connector and column type they come from.
 */
import { z } from 'zod';
import { ExactNumber } from './exactNumber';
import type { Change, RowForm } from './debezium';
import { MessageFault, show } from './fault';
import { idContract, object, readId } from './fields';
import { Decimal } from './quantity';
import { isUnavailable, Undecodable, type Row, type RowValue } from './rowValue';
import type { IgnoredReason } from './topic';

type RowChange = Extract<Change, { row: Row }>;

/** 2^64: the widest key column that connectors write as a plain number. */
const INTEGER_LIMIT = new Decimal('18446744073709551616');
const DOUBLE_LIMIT = new Decimal('9007199254740992');

/**
 * Short base64 with padding, in a column that nothing describes: a numeric key reaches us so when the connector is
 * told to write decimals precisely and the converter to leave the schema out. Small keys end in padding, so this
 * shows on the first rows. It must never become an ID by itself.
 */
const LOOKS_LIKE_DECIMAL = /^(?=.{4,12}$)(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)$/;

/** The primary key's column: MongoDB's documents have `_id`, whatever else is called `id`; tables have either. */
export function primaryKey({ row, form }: RowChange): string {
  if (form === 'document' || form === 'changed-fields') return '_id';
  return row.has('id') || !row.has('_id') ? 'id' : '_id';
}

/**
 * The ID in one column, or the reason why the record asks for nothing.
 * @throws MessageFault when the column is missing, empty, or not an ID
 */
export function rowId(
  { row, form }: RowChange,
  column: string,
  what: string,
): { id: string } | { ignored: IgnoredReason } {
  const value = row.get(column);
  if (isUnavailable(value)) return { ignored: 'unavailable-value' };
  if (value === undefined && form === 'changed-fields') return { ignored: 'update-without-row' };
  const read = typeof value === 'string' ? readText(value, form) : readOther(value);
  if (typeof read !== 'string') return { id: read.value };
  throw new MessageFault(column, read, `send ${what}`);
}

/** The published form of a row: each column under the first of its names, or under the second. */
export function rowContract(...columns: { names: [string, string]; what: string }[]) {
  const shape = columns.flatMap(({ names, what }) => {
    const column = z.unknown().meta({ ...idContract, description: `As text, or a whole number: ${what}` });
    return names.map((name) => [name, column.optional()]);
  });
  const needed = columns.map(({ names }) => ({ anyOf: names.map(contractOfColumn) }));
  return object(Object.fromEntries(shape) as z.ZodRawShape).meta({ allOf: needed });
}

/** With its type, because some validators skip `required` that stands alone. */
function contractOfColumn(name: string) {
  return { type: 'object', properties: { [name]: {} }, required: [name] };
}

function readText(text: string, form: RowForm): { value: string } | string {
  if (form === 'undescribed' && LOOKS_LIKE_DECIMAL.test(text)) {
    return (
      `${show(text)} looks like a decimal whose schema is missing; set schemas.enable=true in the converter or ` +
      'decimal.handling.mode=string in the connector'
    );
  }
  const read = readId(text);
  return typeof read === 'string' ? `${show(text)} ${read}` : read;
}

function readOther(value: RowValue | undefined): { value: string } | string {
  if (value === undefined) return 'missing';
  if (value instanceof Undecodable) return `${value.why} can be no ID`;
  if (value instanceof ExactNumber) return readNumber(value);
  return `${value instanceof Map ? 'an object' : show(value)} must be text or a whole number`;
}

/**
 * Connectors are exact where JavaScript producers are not: integers are taken up to 64 bits. A double (`1004.0`, as
 * MongoDB's old shell stores a plain 1004) is taken where doubles are exact.
 */
function readNumber(exact: ExactNumber): { value: string } | string {
  const { text } = exact;
  if (text.length > 40) return `${show(exact)} must be a whole number of at most 64 bits`;
  const number = new Decimal(text);
  const whole = number.round(0, Decimal.roundDown).eq(number);
  const limit = /^-?\d+$/.test(text) ? INTEGER_LIMIT : DOUBLE_LIMIT;
  if (!whole || number.abs().gte(limit) || (text.startsWith('-') && number.eq('0'))) {
    return `${show(exact)} must be a whole number of at most 64 bits`;
  }
  return { value: number.toFixed() };
}
