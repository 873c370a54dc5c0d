/**
 * Undoes the encodings of Kafka Connect's JsonConverter and of Debezium's relational connectors, by the schema that
 * travels with the value: a decimal is base64 and its scale stands only there, a time is a number whose unit stands
 * only there. Source: Debezium's pages "PostgreSQL connector" and "MySQL connector", data type mappings, and Kafka
 * Connect's `org.apache.kafka.connect.data`.
 */
import { ExactNumber } from './exactNumber';
import { field, isObject, type Json, type JsonObject } from './json';
import { Decimal } from './quantity';
import { plainValue, Undecodable, type Row, type RowValue } from './rowValue';

/** Units per second of the epoch types; days and times of day are apart. */
const TIMESTAMPS: Record<string, bigint> = {
  'org.apache.kafka.connect.data.Timestamp': 1_000n,
  'io.debezium.time.Timestamp': 1_000n,
  'io.debezium.time.MicroTimestamp': 1_000_000n,
  'io.debezium.time.NanoTimestamp': 1_000_000_000n,
};
const TIMES_OF_DAY: Record<string, bigint> = {
  'org.apache.kafka.connect.data.Time': 1_000n,
  'io.debezium.time.Time': 1_000n,
  'io.debezium.time.MicroTime': 1_000_000n,
  'io.debezium.time.NanoTime': 1_000_000_000n,
};
const DATES = ['org.apache.kafka.connect.data.Date', 'io.debezium.time.Date'];
const SECONDS_PER_DAY = 86_400n;

/** Years 1 to 9999 in seconds since 1970: a wrong unit, or the database's "infinity", falls outside. */
const FIRST_SECOND = -62_135_596_800n;
const LAST_SECOND = 253_402_300_799n;

/** 38 digits is the most common limit of databases; these leave room and still bound the work. */
const MAX_DECIMAL_BYTES = 128;
const MAX_SCALE = 1_000n;

/** The schema of one field of a struct, or undefined when there is none. */
export function fieldSchema(schema: Json | undefined, name: string): JsonObject | undefined {
  const fields = isObject(schema) ? field(schema, 'fields') : undefined;
  if (!Array.isArray(fields)) return undefined;
  return fields.filter(isObject).find((one) => field(one, 'field') === name);
}

/** Decodes a row or struct field by field; a field that its schema doesn't describe stays as it stands. */
export function decodeStruct(schema: Json | undefined, value: JsonObject): Row {
  const schemas = new Map<unknown, JsonObject>();
  const fields = isObject(schema) ? field(schema, 'fields') : undefined;
  if (Array.isArray(fields)) for (const one of fields.filter(isObject)) schemas.set(field(one, 'field'), one);
  return new Map(Object.entries(value).map(([name, item]) => [name, decodeValue(schemas.get(name), item)]));
}

/** Decodes one value; without a schema it stays as it stands and is never guessed at. */
export function decodeValue(schema: JsonObject | undefined, value: Json): RowValue {
  if (schema === undefined || value === null) return plainValue(value);
  const name = field(schema, 'name');
  const type = field(schema, 'type');
  const known = typeof name === 'string' ? name : '';
  if (known === 'org.apache.kafka.connect.data.Decimal') return decimal(value, scaleOf(schema));
  if (known === 'io.debezium.data.VariableScaleDecimal') return variableScaleDecimal(value);
  if (Object.hasOwn(TIMESTAMPS, known)) return timestamp(value, TIMESTAMPS[known] ?? 1n);
  if (Object.hasOwn(TIMES_OF_DAY, known)) return timeOfDay(value, TIMES_OF_DAY[known] ?? 1n);
  if (DATES.includes(known)) return date(value);
  if (type === 'bytes') return new Undecodable('bytes that are no decimal by their schema');
  if (type === 'struct' && isObject(value)) return decodeStruct(schema, value);
  if (type === 'array' && Array.isArray(value)) {
    const items = field(schema, 'items');
    return value.map((item) => decodeValue(isObject(items) ? items : undefined, item));
  }
  return plainValue(value);
}

function scaleOf(schema: JsonObject): bigint | undefined {
  const parameters = field(schema, 'parameters');
  return integer(isObject(parameters) ? field(parameters, 'scale') : undefined);
}

/** A number of varying scale, such as Oracle's and PostgreSQL's NUMERIC without precision: `{scale, value}`. */
function variableScaleDecimal(value: Json): RowValue {
  if (!isObject(value))
    return value instanceof ExactNumber ? value : new Undecodable('a decimal without its scale');
  return decimal(field(value, 'value') ?? null, integer(field(value, 'scale')));
}

/** Big-endian two's complement in base64, shifted by the scale; a plain number if the converter writes those. */
function decimal(value: Json, scale: bigint | undefined): RowValue {
  if (value instanceof ExactNumber) return value;
  if (scale === undefined || scale > MAX_SCALE || scale < -MAX_SCALE)
    return new Undecodable('a decimal without its scale');
  if (
    typeof value !== 'string' ||
    !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value)
  ) {
    return new Undecodable('a decimal that is not base64');
  }
  const bytes = Buffer.from(value, 'base64');
  if (bytes.length === 0 || bytes.length > MAX_DECIMAL_BYTES)
    return new Undecodable('a decimal of impossible length');
  const unscaled = BigInt.asIntN(bytes.length * 8, BigInt(`0x${bytes.toString('hex')}`));
  return new ExactNumber(new Decimal(`${unscaled}e${-scale}`).toFixed());
}

/**
 * ISO 8601 with as many digits as the unit has. A column without a zone is given as if it were UTC, so the text ends
 * in Z as well.
 */
function timestamp(value: Json, unitsPerSecond: bigint): RowValue {
  const units = integer(value);
  if (units === undefined) return new Undecodable('a time that is no whole number');
  const [seconds, rest] = floorDivide(units, unitsPerSecond);
  if (seconds < FIRST_SECOND || seconds > LAST_SECOND)
    return new Undecodable('a time outside of the years 1 to 9999');
  return `${isoSeconds(seconds)}.${fraction(rest, unitsPerSecond)}Z`;
}

function timeOfDay(value: Json, unitsPerSecond: bigint): RowValue {
  const units = integer(value);
  if (units === undefined) return new Undecodable('a time that is no whole number');
  const [seconds, rest] = floorDivide(units, unitsPerSecond);
  if (seconds < 0n || seconds >= SECONDS_PER_DAY) return new Undecodable('a time of day outside of the day');
  return `${isoSeconds(seconds).slice(11)}.${fraction(rest, unitsPerSecond)}`;
}

/** Days since 1970. */
function date(value: Json): RowValue {
  const days = integer(value);
  const seconds = days === undefined ? undefined : days * SECONDS_PER_DAY;
  if (seconds === undefined || seconds < FIRST_SECOND || seconds > LAST_SECOND) {
    return new Undecodable('a date outside of the years 1 to 9999');
  }
  return isoSeconds(seconds).slice(0, 10);
}

function integer(value: Json | undefined): bigint | undefined {
  const text = value instanceof ExactNumber ? value.text : value;
  return typeof text === 'string' && /^-?\d{1,20}$/.test(text) ? BigInt(text) : undefined;
}

function floorDivide(value: bigint, by: bigint): [quotient: bigint, remainder: bigint] {
  const remainder = ((value % by) + by) % by;
  return [(value - remainder) / by, remainder];
}

function isoSeconds(seconds: bigint): string {
  return new Date(Number(seconds) * 1_000).toISOString().slice(0, 19);
}

function fraction(rest: bigint, unitsPerSecond: bigint): string {
  return rest.toString().padStart(unitsPerSecond.toString().length - 1, '0');
}
