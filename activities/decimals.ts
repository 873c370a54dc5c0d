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
  return Decimal128.fromString(value.toFixed());
}

export function fromDecimal128(value: Decimal128): Big {
  return new Big(value.toString());
}

/**
 * A stock's balance, whatever BSON number it is stored as. A double is taken with 15 significant digits, as
 * MongoDB itself does when `$inc` adds a decimal to it, so that the computed balance equals the stored one.
 * @throws TypeError when it is no finite number
 */
export function readOnHand(onHand: unknown): Big {
  if (onHand instanceof Decimal128) {
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
