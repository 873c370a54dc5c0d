/**
 * Times: ISO 8601 with a zone, or milliseconds since 1970.
 */
import { ExactNumber } from './exactNumber';

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:Z|([+-])(\d{2}):?(\d{2}))$/;

/** What most programs write, and what this one keeps. */
const CANONICAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Seconds or microseconds taken for milliseconds fall outside of this, and so are seen. */
const EARLIEST = Date.UTC(2000, 0, 1);
const LATEST = Date.UTC(2100, 0, 1);

/** The largest time a Date can hold, in milliseconds. */
const LAST_DATE = 8.64e15;

/**
 * Reads a time as ISO 8601 in UTC with milliseconds, or says what is wrong as the middle of a sentence. A time
 * without a zone is refused: it could mean any of some forty moments.
 */
export function readTime(value: unknown): { utc: string } | string {
  const text = value instanceof ExactNumber ? value.text : value;
  if (typeof text !== 'string') return 'must be a time';
  if (text === value && CANONICAL.test(text)) {
    const date = new Date(text);
    // Date rolls what no calendar has over to the next month instead of refusing it: it then reads otherwise.
    const isItself = !Number.isNaN(date.getTime()) && date.toISOString() === text;
    if (isItself && date.getTime() >= EARLIEST && date.getTime() < LATEST) return { utc: text };
  }
  const ms = /^\d{1,16}$/.test(text) ? Number(text) : value instanceof ExactNumber ? NaN : fromIso(text);
  if (Number.isNaN(ms)) {
    return 'must be a time such as "2026-01-31T12:00:00Z" (with Z or an offset) or whole milliseconds since 1970';
  }
  if (ms < EARLIEST || ms >= LATEST) return 'must lie between 2000 and 2100, counted in milliseconds';
  return { utc: new Date(ms).toISOString() };
}

/** The record's own time, as ISO 8601 in UTC; undefined when Kafka has none (`-1`) or no date can hold it. */
export function recordTime(timestamp: string): string | undefined {
  const ms = /^\d{1,16}$/.test(timestamp) ? Number(timestamp) : NaN;
  // A producer with a wrong clock is no fault of its message: the time describes, and decides nothing.
  return ms <= LAST_DATE ? new Date(ms).toISOString() : undefined;
}

/** The published form. */
export const timeContract = {
  anyOf: [
    { type: 'string', format: 'date-time' },
    { type: 'integer', minimum: EARLIEST, exclusiveMaximum: LATEST },
  ],
};

function fromIso(text: string): number {
  const form = ISO.exec(text);
  if (form === null) return NaN;
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map((part) => Number(form[part] ?? 0));
  const [, , , , , , , fraction = '', sign, zoneHours = '0', zoneMinutes = '0'] = form;
  if (year === undefined || month === undefined || hour === undefined || minute === undefined) return NaN;
  if (hour > 23 || minute > 59 || (second ?? 0) > 59 || Number(zoneMinutes) > 59) return NaN;
  const midnight = new Date(Date.UTC(year, month - 1, day));
  // Date rolls 30 February over to March instead of refusing it.
  if (midnight.getUTCMonth() !== month - 1 || midnight.getUTCDate() !== day) return NaN;
  const minutes =
    hour * 60 + minute - (sign === '-' ? -1 : 1) * (Number(zoneHours) * 60 + Number(zoneMinutes));
  return (
    midnight.getTime() +
    minutes * 60_000 +
    (second ?? 0) * 1_000 +
    Number(fraction.padEnd(3, '0').slice(0, 3))
  );
}
