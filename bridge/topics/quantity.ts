/**
 * Quantities: decimal text or an exact JSON number, in exact arithmetic from here to the ledger.
 */
import makeBig from 'big.js';
import { ExactNumber } from './exactNumber';

/** Strict: hands out and takes no JavaScript number, so a binary float is a TypeError instead of a wrong stock. */
export const Decimal = makeBig();
Decimal.strict = true;
export type Decimal = makeBig;

/** Quantities, and their sums, stay below 10 to this power. */
const LIMIT_POWER = 15;
export const MAX_DECIMALS = 6;

/**
 * What a quantity looks like. The exponent form is accepted: it is as exact as any, and the standard printers of
 * Java (`1E+2`, `1.0E-4`) and Python (`1e-05`) write it for ordinary quantities. A sign, leading zeros, spaces,
 * and separators are not.
 */
const FORM = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d{1,2}))?$/;
const LONGEST = 64;

/** More significant digits than a double is sure to keep. */
const DOUBLE_DIGITS = 15;

/**
 * Reads a quantity, or says what is wrong with it as the middle of a sentence. More than six decimals are refused
 * instead of rounded; trailing zeros beyond the sixth are harmless, because the value is the same.
 */
export function readQuantity(value: unknown): Decimal | string {
  const isNumber = value instanceof ExactNumber;
  const text = isNumber ? value.text : value;
  if (typeof text !== 'string') return 'must be a decimal';
  if (text.length > LONGEST) return `must be a decimal of at most ${LONGEST} characters`;
  const form = FORM.exec(text);
  if (form === null) return 'must be a plain decimal such as "2.5" (digits, a dot, digits)';
  const quantity = new Decimal(text);
  if (quantity.s < 0 || isZero(quantity)) return 'must be greater than zero';
  if (!isInRange(quantity)) return 'must be below 10^15';
  if (isNumber && quantity.c.length > DOUBLE_DIGITS) {
    return `has more than ${DOUBLE_DIGITS} significant digits, which many JSON writers round; write it as text`;
  }
  // `c` holds the digits without trailing zeros and `e` the power of ten of the first: what remains are decimals.
  if (quantity.c.length - 1 - quantity.e > MAX_DECIMALS) return `must have at most ${MAX_DECIMALS} decimals`;
  return quantity;
}

/**
 * The digits are looked at instead of compared with, because each comparison copies both sides: `c` holds them and
 * `e` is the power of ten of the first.
 */
export function isZero(quantity: Decimal): boolean {
  return quantity.c[0] === 0;
}

/** True below 10^15, whatever the sign. */
export function isInRange(quantity: Decimal): boolean {
  return quantity.e < LIMIT_POWER;
}

/** The published form, for validators that know nothing of this file. */
export const quantityContract = {
  anyOf: [
    {
      type: 'string',
      maxLength: LONGEST,
      pattern: '^(?!0+(\\.0+)?([eE]|$))(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$',
    },
    { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1e15 },
  ],
};
