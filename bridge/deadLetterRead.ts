/** Dead letters as they stand in their topic: read back into the records they were, with why they died. */
import type { Kafka } from 'kafkajs';
import { DEAD_LETTER_HEADERS } from './deadLetters';
import { openAdmin } from './kafka';
import type { KafkaRecord } from './records';
import { readSpans } from './replayRead';
import { resolveSpans, type Wish } from './replaySpans';

export interface Letter {
  /** `0:42`: partition and offset in the dead-letter topic. */
  id: string;
  /** Of its state, see `letterKey`. */
  key: string;
  reason: string;
  /** When it was written, ISO 8601. */
  at: string;
  /** 2 and more: it came back and died again. */
  deaths: number;
  /** The record as it was, in its own topic. Its headers are those of the letter. */
  record: KafkaRecord;
}

/** Headers that every letter of the bridge carries; one without them was put there by somebody else. */
export function toLetter(dead: KafkaRecord): Letter {
  const last = (name: string) => valuesOf(dead, name).at(-1)?.toString();
  const topic = last(DEAD_LETTER_HEADERS.topic) ?? '';
  return {
    id: `${dead.partition}:${dead.offset}`,
    key: letterKey(dead),
    reason: last(DEAD_LETTER_HEADERS.reason) ?? 'not written by the bridge: its headers are missing',
    at: last(DEAD_LETTER_HEADERS.at) ?? new Date(Number(dead.timestamp)).toISOString(),
    deaths: valuesOf(dead, DEAD_LETTER_HEADERS.reason).length,
    record: {
      ...dead,
      topic,
      partition: Number(last(DEAD_LETTER_HEADERS.partition) ?? 0),
      offset: last(DEAD_LETTER_HEADERS.offset) ?? '0',
      timestamp: last(DEAD_LETTER_HEADERS.timestamp) ?? dead.timestamp,
    },
  };
}

/** The time keeps a topic that was deleted and made anew from inheriting decisions about other letters. */
export function letterKey({ topic, partition, offset, timestamp }: KafkaRecord): string {
  return `${topic}/${partition}/${offset}/${timestamp}`;
}

/** Reads the letters that are there now, oldest first within a partition; memory stays flat. */
export async function readLetters(
  kafka: Kafka,
  topic: string,
  wish: Wish,
  onLetters: (letters: Letter[]) => Promise<void>,
): Promise<string[]> {
  const admin = await openAdmin(kafka);
  const { spans, notes } = await resolveSpans(admin, topic, wish).finally(() => admin.close());
  const onRecords = (records: KafkaRecord[]) => onLetters(records.map(toLetter));
  const read = await readSpans({ kafka, topic, spans, onRecords });
  return [...notes.filter((note) => note.includes('are gone')), ...read.notes];
}

/** Reasons alike but for the values that stand in them are one group. */
export function groupOf({ record, reason }: Letter): string {
  return `${record.topic}: ${withoutValues(reason)}`;
}

/** A reason that holds nothing of the event any more but the names of its fields. */
export function withoutValues(reason: string): string {
  return reason
    .replace(/"(?:[^"\\]|\\.)*"/g, '"…"')
    .replace(/\[\d+\]/g, '[…]')
    .replace(/\b\d+(\.\d+)?\b/g, 'N');
}

function valuesOf({ headers }: KafkaRecord, name: string): (Buffer | string)[] {
  const value = headers?.[name];
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}
