/**
 * The fields events are made of. Each is one definition that validates and that the published contract is
 * written from.
 */
import { z } from 'zod';
import { MAX_ID_BYTES } from '../../commands';
import { MessageFault, show } from './fault';
import { ExactNumber } from './exactNumber';
import { quantityContract, readQuantity } from './quantity';
import { readTime, timeContract } from './time';

/** A document with more lines is a dead letter that asks for it to be split: one transaction moves all its legs. */
export const MAX_LINES = 1_000;

/** Control characters and lone surrogates: neither is text, and the second has no UTF-8 form to make a key of. */
const NOT_TEXT = /[\p{Cc}\p{Cs}]/u;

/** `what` ends the remedy: `send <what>`. Reads to the ID as text; a safe integer is taken as its decimal text. */
export function id(what: string) {
  return leaf(
    `Non-empty text of at most ${MAX_ID_BYTES} bytes in UTF-8: ${what}`,
    idContract,
    (value) => {
      const text = value instanceof ExactNumber ? safeInteger(value.text) : { id: value };
      return typeof text === 'string' ? text : readId(text.id);
    },
    what,
  );
}

/** Reads to an exact decimal > 0. */
export function quantity(what: string) {
  return leaf(
    `Decimal greater than zero, below 10^15, with at most 6 decimals, as text or as a number: ${what}`,
    quantityContract,
    (value) => {
      const read = readQuantity(value);
      return typeof read === 'string' ? read : { value: read };
    },
    what,
  );
}

/** Reads to ISO 8601 in UTC; absent or null means that the record's time is taken. */
export function time(what: string) {
  const described = `ISO 8601 with Z or offset, or milliseconds since 1970; if absent, the record's time: ${what}`;
  return leaf(
    described,
    timeContract,
    (value) => {
      const read = readTime(value);
      return typeof read === 'string' ? read : { value: read.utc };
    },
    what,
  ).nullish();
}

/** A list of at most {@link MAX_LINES}; {@link check} looks at its length before its lines. */
export function lines<Line extends z.ZodType>(line: Line, what: string) {
  return z
    .array(line, { error: ({ input }) => said(input, 'must be a list', what) })
    .max(MAX_LINES)
    .meta({ description: `${what}; an empty list says that nothing of it is tracked` });
}

/**
 * Validates an event, or the part that a definition asks for; fields it does not know are left out.
 * @throws MessageFault that names the first field at fault, its value and the remedy
 */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  event: unknown,
  listField?: string,
): z.output<Schema> {
  const list = listField === undefined ? undefined : (event as Record<string, unknown> | null)?.[listField];
  if (Array.isArray(list) && list.length > MAX_LINES) {
    throw new MessageFault(
      `${listField}`,
      `${list.length} lines, more than ${MAX_LINES}`,
      'split the document',
    );
  }
  const result = schema.safeParse(event);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const path = issue?.path ?? [];
  const around = path.slice(0, -1);
  const parent = around.reduce<unknown>(
    (value, part) => (value as Record<PropertyKey, unknown>)[part],
    event,
  );
  // A number is kept as an object of its own, which zod takes for one that lacks its fields.
  if (path.length > 0 && parent instanceof ExactNumber) {
    throw new MessageFault(pathText(around), said(parent, 'must be an object', 'a JSON object'));
  }
  throw new MessageFault(pathText(path), issue?.message ?? 'not valid');
}

/** An object; anything else is refused in the words of this project. */
export function object<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object(shape, { error: ({ input }) => said(input, 'must be an object', 'a JSON object') });
}

/** Reads an ID from text, or says what is wrong as the middle of a sentence. */
export function readId(value: unknown): { value: string } | string {
  if (typeof value !== 'string') return 'must be text or a whole number';
  if (value === '') return 'must not be empty';
  if (value.length > MAX_ID_BYTES || Buffer.byteLength(value) > MAX_ID_BYTES) {
    return `must be at most ${MAX_ID_BYTES} bytes long`;
  }
  if (NOT_TEXT.test(value)) return 'must not hold control characters or half characters';
  return { value };
}

export const idContract = {
  anyOf: [
    { type: 'string', minLength: 1, maxLength: MAX_ID_BYTES },
    { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
  ],
};

/** One value: read by `read`, published as `contract`. `unknown` comes first so that the input reaches `read` raw. */
function leaf<Value>(
  description: string,
  contract: Record<string, unknown>,
  read: (value: unknown) => { value: Value } | string,
  what: string,
) {
  return z
    .unknown()
    .transform((input, context): Value => {
      const result = read(input);
      if (typeof result !== 'string') return result.value;
      context.issues.push({ code: 'custom', input, message: said(input, result, what) });
      return z.NEVER;
    })
    .meta({ description, ...contract });
}

function said(input: unknown, problem: string, what: string): string {
  return `${input === undefined ? 'missing' : `${show(input)} ${problem}`}; send ${what}`;
}

function safeInteger(text: string): { id: unknown } | string {
  if (!/^-?\d+$/.test(text) || text === '-0') return 'must be a whole number or text';
  if (!Number.isSafeInteger(Number(text)))
    return 'is too large for a JSON number to be exact; write it as text';
  return { id: text };
}

/** `lines[0].quantity`. */
function pathText(path: PropertyKey[]): string {
  if (path.length === 0) return 'value';
  return path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text === '' ? String(part) : `${text}.${String(part)}`,
    '',
  );
}
