/**
 * Bytes to JSON without loss: numbers stay text, and what JSON leaves open is refused instead of guessed.
 */
import { parse } from 'lossless-json';
import { ExactNumber } from './exactNumber';
import { escapeText, MessageFault, show } from './fault';

export type Json = string | boolean | null | ExactNumber | Json[] | JsonObject;
export interface JsonObject {
  [field: string]: Json;
}

/**
 * Deepest nesting that is read. Events need three levels, Debezium's schemas about ten, a MongoDB document has at
 * most 100. A fixed limit, because "until the stack is full" would depend on the caller.
 */
export const MAX_DEPTH = 128;

/** Refuses bytes that are not UTF-8; drops one byte order mark, which some writers add and which changes nothing. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads UTF-8 JSON. `where` names it in a fault, e.g. `value`.
 * @throws MessageFault on invalid UTF-8, invalid JSON, a field given twice, or nesting deeper than 128 levels
 */
export function parseBytes(bytes: Buffer, where: string): Json {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new MessageFault(where, 'not valid UTF-8', 'send JSON in UTF-8');
  }
  return parseText(text, where);
}

/** As {@link parseBytes}, for JSON that arrives as text inside JSON, as MongoDB's documents do. */
export function parseText(text: string, where: string): Json {
  const { depth, members } = survey(text);
  if (depth > MAX_DEPTH) {
    throw new MessageFault(
      where,
      `nested ${depth} levels deep, more than ${MAX_DEPTH}`,
      'send a flatter event',
    );
  }
  let value: Json;
  try {
    value = parse(text, null, parsing) as Json;
  } catch (error) {
    // The parser is pure, so anything else than a fault of the text would be a bug: let it be seen.
    if (!(error instanceof SyntaxError)) throw error;
    throw new MessageFault(where, `not valid JSON (${escapeText(error.message)})`, 'send one JSON object');
  }
  if (countMembers(value) !== members) {
    throw new MessageFault(where, 'an object in it gives the same field twice', 'send each field once');
  }
  return value;
}

/** A JSON object, as opposed to a list, a number or null. */
export function isObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  );
}

/** A field of an object, never one that every JavaScript object inherits, such as `constructor`. */
export function field(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

const parsing = {
  parseNumber: (text: string) => new ExactNumber(text),
  onDuplicateKey: ({ key }: { key: string }) => {
    throw new MessageFault(
      'value',
      `field ${show(key)} is given twice with different values`,
      'send it once',
    );
  },
};

/** Deepest nesting, and the number of object members: outside of strings, each has exactly one colon. */
function survey(text: string): { depth: number; members: number } {
  let depth = 0;
  let deepest = 0;
  let members = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 0x5c /* \ */) i++;
      else if (code === 0x22 /* " */) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x3a /* : */) members++;
    else if (code === 0x7b /* { */ || code === 0x5b /* [ */) deepest = ++depth > deepest ? depth : deepest;
    else if (code === 0x7d /* } */ || code === 0x5d /* ] */) depth--;
  }
  return { depth: deepest, members };
}

/**
 * Members that arrived in the value. Fewer than the text has means that one was given twice: the parser itself
 * reports only those whose values differ.
 */
function countMembers(value: Json): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countMembers(item), 0);
  if (!isObject(value)) return 0;
  let members = 0;
  for (const name of Object.keys(value)) members += 1 + countMembers(value[name] ?? null);
  return members;
}
