/**
 * MongoDB's extended JSON in all the forms Debezium writes: strict (v1), canonical and relaxed (v2). Sources: the
 * page "MongoDB connector" of Debezium and MongoDB's specification of extended JSON.
 */
import { ExactNumber } from './exactNumber';
import { isObject, type Json } from './json';
import { Undecodable, type RowValue } from './rowValue';

const NUMBER = /^-?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,4})?$/;
const UUID_SUBTYPES = ['3', '03', '4', '04'];

/** Decodes a document, or a single value such as the ID in an event's key, so that every form gives the same text. */
export function decodeExtendedJson(value: Json): RowValue {
  if (Array.isArray(value)) return value.map(decodeExtendedJson);
  if (!isObject(value)) return value;
  const names = Object.keys(value);
  const wrapper = names.find((name) => name.startsWith('$'));
  if (wrapper === undefined) {
    return new Map(Object.entries(value).map(([name, item]) => [name, decodeExtendedJson(item)]));
  }
  const inner = value[wrapper] ?? null;
  if (names.includes('$binary')) return binary(value['$binary'] ?? null, value['$type'] ?? null);
  if (names.length !== 1) return new Undecodable('an unknown form of extended JSON');
  switch (wrapper) {
    case '$oid':
      return typeof inner === 'string' && /^[0-9a-fA-F]{24}$/.test(inner)
        ? inner.toLowerCase()
        : new Undecodable('an ObjectId that is not 24 hex digits');
    case '$numberInt':
    case '$numberLong':
    case '$numberDouble':
    case '$numberDecimal':
      return typeof inner === 'string' && NUMBER.test(inner)
        ? new ExactNumber(inner)
        : new Undecodable('a number that is not finite');
    case '$uuid':
      return typeof inner === 'string' ? inner.toLowerCase() : new Undecodable('a UUID that is not text');
    case '$symbol':
      return typeof inner === 'string' ? inner : new Undecodable('a symbol that is not text');
    case '$date':
      return date(inner);
    default:
      return new Undecodable('an unknown form of extended JSON');
  }
}

/** v2 `{"$binary": {"base64", "subType"}}`, v1 `{"$binary", "$type"}`: of all binaries only UUIDs have a text form. */
function binary(inner: Json, type: Json): RowValue {
  const base64 = isObject(inner) ? inner['base64'] : inner;
  const subtype = isObject(inner) ? inner['subType'] : type;
  const bytes = typeof base64 === 'string' ? Buffer.from(base64.slice(0, 32), 'base64') : Buffer.alloc(0);
  if (typeof subtype !== 'string' || !UUID_SUBTYPES.includes(subtype) || bytes.length !== 16) {
    return new Undecodable('binary data');
  }
  // Subtype 3 orders its bytes as the driver that wrote it pleases, so its text form is anyone's guess.
  if (subtype.endsWith('3')) return new Undecodable('a UUID of the old binary subtype 3');
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** v1 milliseconds, v2 relaxed ISO text, v2 canonical `{"$numberLong"}`: all become ISO text with milliseconds. */
function date(inner: Json): RowValue {
  const value = decodeExtendedJson(inner);
  // Without Z the text would be read in this machine's zone.
  const isMs = value instanceof ExactNumber && /^-?\d{1,16}$/.test(value.text);
  const isText = typeof value === 'string' && value.endsWith('Z');
  const at = new Date(isMs ? Number(value.text) : isText ? value : NaN);
  return Number.isNaN(at.getTime()) ? new Undecodable('a date that is none') : at.toISOString();
}
