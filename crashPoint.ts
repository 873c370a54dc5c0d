/**
 * Named moments at which a process can be made to die, as `kill -9` would, so that a test reaches each of them for
 * certain: `CRASH_POINT=after-start` dies the first time, `CRASH_POINT=after-start:3` the third. Unset, as always
 * outside of tests, a moment costs one comparison. Workflow code has none: it is replayed, not interrupted.
 */
import { writeSync } from 'node:fs';

export const CRASH_POINTS = [
  /** Records are here, nothing is begun. */
  'after-fetch',
  /** The workflow exists, the offset has not passed its record. */
  'after-start',
  /** The dead letter is written, the offset has not passed its record. */
  'after-dead-letter',
  /** The commit of an offset is on its way to Kafka. */
  'during-commit',
  /** The bridge was told to stop; begun starts are still at work. */
  'during-drain',
  /** Entries are written, stocks are not, nothing is committed. */
  'in-transaction',
  /** The transaction is durable, and nobody has been told. */
  'after-commit',
] as const;
export type CrashPoint = (typeof CRASH_POINTS)[number];

const [armed = '', count = '1'] = (process.env['CRASH_POINT'] ?? '').split(':');
if (armed !== '' && (!CRASH_POINTS.includes(armed as CrashPoint) || !/^[1-9]\d*$/.test(count))) {
  throw new RangeError(
    `CRASH_POINT=${process.env['CRASH_POINT']} is not one of ${CRASH_POINTS.join(', ')}, with or without a count such as after-start:3`,
  );
}
let left = Number(count);

/** Dies here, if this is the moment that was asked for. */
export function crashPoint(here: CrashPoint): void {
  if (here === armed && --left === 0) die();
}

/** The same for a moment after what was just begun: once it has been handed to the system, before it is answered. */
export function crashPointSoon(here: CrashPoint): void {
  if (here === armed && --left === 0) setImmediate(die);
}

function die(): void {
  writeSync(2, `crash point ${armed}\n`);
  process.kill(process.pid, 'SIGKILL');
}
