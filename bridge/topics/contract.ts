/**
 * Publishes each topic's contract as JSON Schema, from the definitions that validate: `npm run contract` writes
 * them into `contract/`, one file per topic.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { TOPIC_NAMES, TOPICS } from './index';

/** File name and content of every contract, e.g. `PAYMENT_SUCCESS.schema.json`. */
export function contractFiles(): { file: string; text: string }[] {
  return TOPIC_NAMES.map((name) => {
    const { contract, examples } = TOPICS[name];
    const { $schema, ...schema } = z.toJSONSchema(contract, { io: 'input' });
    const published = { $schema, title: name, ...schema, examples };
    return { file: `${name}.schema.json`, text: `${print(published, '')}\n` };
  });
}

/** Writes the files into a directory, which is made if it is missing. */
export function writeContract(directory: string): void {
  mkdirSync(directory, { recursive: true });
  for (const { file, text } of contractFiles()) writeFileSync(join(directory, file), text);
}

/** JSON with lists of plain values on one line, as the repository's formatter wants it. */
function print(value: unknown, indent: string): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    const items = value.map((item) => print(item, inner));
    if (value.every((item) => typeof item !== 'object')) return `[${items.join(', ')}]`;
    return `[\n${inner}${items.join(`,\n${inner}`)}\n${indent}]`;
  }
  const members = Object.entries(value).map(
    ([name, item]) => `${JSON.stringify(name)}: ${print(item, inner)}`,
  );
  return members.length === 0 ? '{}' : `{\n${inner}${members.join(`,\n${inner}`)}\n${indent}}`;
}

if (require.main === module) writeContract(join(process.cwd(), 'contract'));
