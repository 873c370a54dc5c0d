/**
 * What a column or a document's field can hold once its encoding is undone.
 */
import type { ExactNumber } from './exactNumber';
import { isObject, type Json } from './json';

/**
 * Numbers and decimals are {@link ExactNumber}, times ISO 8601 text, objects and rows maps (which have no inherited
 * fields that a column called `constructor` could be taken for).
 */
export type RowValue = string | boolean | null | ExactNumber | Undecodable | RowValue[] | Row;
export type Row = ReadonlyMap<string, RowValue>;

/** A value that can't be read for certain. Only a command that needs it makes a fault of it. */
export class Undecodable {
  /** `why` is a fixed phrase, e.g. `bytes without a scale`. */
  constructor(readonly why: string) {}
}

/** Debezium's mark for a value the database's log does not hold because it did not change (PostgreSQL TOAST). */
const UNAVAILABLE = '__debezium_unavailable_value';
const UNAVAILABLE_BYTES = Buffer.from(UNAVAILABLE).toString('base64');

/** True for that mark, as text or as the base64 that a column of bytes shows. */
export function isUnavailable(value: RowValue | undefined): boolean {
  return value === UNAVAILABLE || value === UNAVAILABLE_BYTES;
}

/** JSON as it stands, for values that nothing describes. */
export function plainValue(value: Json): RowValue {
  if (Array.isArray(value)) return value.map(plainValue);
  if (isObject(value)) return new Map(Object.entries(value).map(([name, item]) => [name, plainValue(item)]));
  return value;
}
