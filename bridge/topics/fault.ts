/**
 * A fault of the message itself, and how text that came from outside is shown in its reason.
 */
import { ExactNumber } from './exactNumber';

const MAX_SHOWN = 80;

/**
 * What makes a dead letter: no later try could read this message either. The message names the field, its value
 * and the remedy, e.g. `lines[0].quantity: "0" must be greater than zero; send the quantity that was sold`.
 */
export class MessageFault extends Error {
  override name = 'MessageFault';

  /**
   * `problem` holds no text from outside that did not go through {@link show} or {@link escapeText}; it may hold
   * the remedy itself.
   */
  constructor(field: string, problem: string, remedy?: string) {
    super(`${field}: ${problem}${remedy === undefined ? '' : `; ${remedy}`}`);
  }
}

/**
 * A value as a reason shows it: text quoted and escaped, numbers as they were written, cut to 80 characters; of
 * lists and objects only what they are.
 */
export function show(value: unknown): string {
  if (typeof value === 'string') return show80(value, '"');
  if (value instanceof ExactNumber) return show80(value.text, '');
  if (value === null || typeof value === 'boolean') return String(value);
  if (value === undefined) return 'nothing';
  return Array.isArray(value) ? 'a list' : 'an object';
}

/**
 * Makes control characters, lone surrogates and invisible or direction-changing characters visible as `\uXXXX`:
 * a reason stands in logs, headers and terminals, where these could forge a line or hide a part.
 */
export function escapeText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu, (character) =>
    Array.from({ length: character.length }, (_, unit) =>
      character.charCodeAt(unit).toString(16).padStart(4, '0'),
    )
      .map((hex) => `\\u${hex}`)
      .join(''),
  );
}

function show80(text: string, quote: string): string {
  // Cut before escaping, so that ten kilobytes are never escaped for eighty characters.
  const cut = text.length > MAX_SHOWN ? text.slice(0, MAX_SHOWN) : text;
  const plain = quote === '' ? cut : cut.replace(/["\\]/g, '\\$&');
  const shown = `${quote}${escapeText(plain)}${quote}`;
  return cut === text ? shown : `${shown}… (${text.length} characters)`;
}
