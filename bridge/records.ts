/** What passes through the bridge: records, what they became, and why a partition may wait. */
export type { Decoded, KafkaRecord } from './topics/topic';

export interface TopicPartition {
  topic: string;
  partition: number;
}

/** `orders[3]`: a partition in logs and as a key of maps (topic names cannot hold brackets). */
export function partitionName({ topic, partition }: TopicPartition): string {
  return `${topic}[${partition}]`;
}

/**
 * Why a partition waits. A closed set: it labels metrics and tells a person what to look at.
 * - `temporal-unavailable`: no answer, or an error that goes away by itself
 * - `temporal-throttled`: Temporal asked to slow down, longer than a partition may hold its records
 * - `temporal-refused`: namespace or permission is missing; needs a person, and no record is at fault
 * - `groups-unfinished`: what was started before is not done, so nothing is added to it: no worker takes work, MongoDB is
 *   away, or either is slow
 * - `dead-letter-topic-unavailable`, `dead-letter-too-large`: a dead letter could not be written
 * - `lost-span`: records that were never handled are no longer in the topic
 * - `bug`: this program failed in a way nobody foresaw
 */
export const PAUSE_REASONS = [
  'temporal-unavailable',
  'temporal-throttled',
  'temporal-refused',
  'groups-unfinished',
  'dead-letter-topic-unavailable',
  'dead-letter-too-large',
  'lost-span',
  'bug',
] as const;
export type PauseReason = (typeof PAUSE_REASONS)[number];

/** Trying again later can help, whatever the record: the partition waits, nothing is dropped. */
export class Unavailable extends Error {
  override readonly name: string = 'Unavailable';
  constructor(
    readonly reason: PauseReason,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The reason to wait after a failure; whatever is not known to be a server's absence is a bug of ours. */
export function reasonOf(error: unknown): PauseReason {
  return error instanceof Unavailable ? error.reason : 'bug';
}
