/** Exact decimals between MongoDB and text. No binary float takes part in arithmetic. */
import Big from 'big.js';
import { Decimal128, Long } from './models';

/** Decimal128 holds 34 significant digits; one more would be rounded silently. */
const MAX_DIGITS = 34;

/** @throws RangeError when the value has more digits than Decimal128 can hold exactly. */
export function toDecimal128(value: Big): Decimal128 {
  if (value.c.length > MAX_DIGITS) {
    throw new RangeError(`${value.toFixed()} has more than ${MAX_DIGITS} digits and would be rounded`);
  }
  return pack(value) ?? Decimal128.fromString(value.toFixed());
}

export function fromDecimal128(value: Decimal128): Big {
  return unpack(value) ?? new Big(value.toString());
}

/** Most digits of a coefficient that a number counts up to exactly. */
const PLAIN_DIGITS = 15;
/** What Decimal128 adds to an exponent, so that it is never negative; IEEE 754-2008, decimal128. */
const BIAS = 6_176;
const TWO_32 = 2 ** 32;

/**
 * The very bytes that `Decimal128.fromString` makes of the number's text, without the text: that took a tenth of the
 * time of a large transaction. Undefined for more digits than a number can count.
 */
function pack({ s, e, c }: Big): Decimal128 | undefined {
  const scale = Math.max(c.length - 1 - e, 0);
  const digits = e + scale + 1;
  if (digits > PLAIN_DIGITS || scale > BIAS) return undefined;
  let coefficient = 0;
  for (let i = 0; i < digits; i++) coefficient = coefficient * 10 + (c[i] ?? 0);
  const bytes = new Uint8Array(16);
  for (let i = 0, low = coefficient % TWO_32; i < 4; i++, low >>>= 8) bytes[i] = low;
  for (let i = 4, high = Math.floor(coefficient / TWO_32); i < 8; i++, high >>>= 8) bytes[i] = high;
  const signAndExponent = (s < 0 && coefficient !== 0 ? 0x8000 : 0) | ((BIAS - scale) << 1);
  bytes[14] = signAndExponent;
  bytes[15] = signAndExponent >>> 8;
  return new Decimal128(bytes);
}

/** The way back; undefined for large coefficients and for what is no finite number. */
function unpack({ bytes }: Decimal128): Big | undefined {
  const signAndExponent = bytes[14]! | (bytes[15]! << 8);
  // These two bits are set for infinities, NaN and coefficients that need their room.
  if ((signAndExponent & 0x6000) === 0x6000 || (signAndExponent & 1) !== 0) return undefined;
  for (let i = 8; i < 14; i++) if (bytes[i] !== 0) return undefined;
  let coefficient = 0;
  for (let i = 7; i >= 0; i--) coefficient = coefficient * 256 + bytes[i]!;
  if (coefficient >= 10 ** PLAIN_DIGITS) return undefined;
  const value = new Big(coefficient);
  if (coefficient === 0) return value;
  value.e += ((signAndExponent & 0x7fff) >> 1) - BIAS;
  if (signAndExponent & 0x8000) value.s = -1;
  return value;
}

/**
 * A stock's balance, whatever BSON number it is stored as. A double is taken with 15 significant digits, as
 * MongoDB itself does when `$inc` adds a decimal to it, so that the computed balance equals the stored one.
 * @throws TypeError when it is no finite number
 */
export function readOnHand(onHand: unknown): Big {
  if (onHand instanceof Decimal128) {
    const plain = unpack(onHand);
    if (plain) return plain;
    const text = onHand.toString();
    if (!/^-?(NaN|Infinity)$/i.test(text)) return new Big(text);
  } else if (typeof onHand === 'number' && Number.isFinite(onHand)) {
    return new Big(onHand.toPrecision(15));
  } else if (onHand instanceof Long || typeof onHand === 'bigint') {
    return new Big(onHand.toString());
  }
  throw new TypeError(`onHand is ${describe(onHand)}, not a finite number`);
}

function describe(value: unknown): string {
  if (value === undefined) return 'missing';
  return `${typeof value} ${(JSON.stringify(value) ?? '').slice(0, 60)}`;
}
