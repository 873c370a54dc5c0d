/** Where reading starts, and whether what should be read next is still there. Nothing is guessed. */
import { parseTime } from '../config';
import type { KafkaAdmin, Watermarks } from './kafka';
import { partitionName } from './records';
import type { Logger } from '../log';

/** The bridge cannot start as it is set up; the message says what to do. Trying again does not help. */
export class StartPositionError extends Error {
  override readonly name = 'StartPositionError';
}

/** Where a partition starts when its group has not committed anything for it yet, by `partitionName`. */
export type StartPlan = ReadonlyMap<string, bigint>;

export interface StartSettings {
  groupId: string;
  topics: string[];
  /** Topics that are not read and have to exist: a missing one is better found now than with the first record for it. */
  alsoNeeded?: string[];
  /** `earliest`, `latest`, an ISO 8601 time with a zone, or epoch milliseconds as text. */
  startFrom?: string | undefined;
}

/**
 * Made once, before this process joins the group, so that "latest" means the moment of its start: a rebalance
 * between two bridges that start at once does not move it. A topic the group has read before (any partition has a
 * commit) is never subject to `startFrom`: its other partitions were empty or did not exist, and start at earliest.
 * @throws StartPositionError for a missing topic, or when records wait and nobody said where to start
 */
export async function planStart(admin: KafkaAdmin, settings: StartSettings, log: Logger): Promise<StartPlan> {
  const { groupId, topics, startFrom } = settings;
  await refuseMissingTopics(admin, settings);
  const plan = new Map<string, bigint>();
  const undecided: string[] = [];
  for (const topic of topics) {
    const committed = await admin.committed(groupId, topic);
    const marks = await admin.watermarks(topic);
    const chosen = committed.size > 0 ? earliest(marks) : await startingAt(admin, topic, marks, startFrom);
    for (const { partition, low, high } of marks) {
      const name = partitionName({ topic, partition });
      if (committed.has(partition)) continue;
      const start = low === high ? low : chosen?.get(partition);
      if (start === undefined) undecided.push(`${name} (offsets ${low} to ${high - 1n})`);
      else plan.set(name, start);
    }
  }
  if (undecided.length > 0) {
    throw new StartPositionError(
      `consumer group ${groupId} has never committed an offset for ${undecided.join(', ')}, where records wait. ` +
        'Set KAFKA_START_FROM=earliest to take them all, =latest to leave them, or =<ISO 8601 time> to take those since then.',
    );
  }
  if (plan.size > 0) {
    const starts = Object.fromEntries([...plan].map(([name, offset]) => [name, offset.toString()]));
    log.info({ groupId, startFrom, starts }, 'partitions without a committed offset start here');
  }
  return plan;
}

/** @throws StartPositionError naming the topics that Kafka does not have */
export async function refuseMissingTopics(admin: KafkaAdmin, settings: StartSettings): Promise<void> {
  const existing = new Set(await admin.topics());
  const missing = [...settings.topics, ...(settings.alsoNeeded ?? [])].filter(
    (topic) => !existing.has(topic),
  );
  if (missing.length === 0) return;
  throw new StartPositionError(
    `Kafka has no topic ${missing.join(', ')}. Run "inventory setup", or correct the KAFKA_TOPIC_* settings.`,
  );
}

async function startingAt(
  admin: KafkaAdmin,
  topic: string,
  marks: Watermarks[],
  startFrom: string | undefined,
) {
  if (startFrom === undefined) return undefined;
  if (startFrom === 'earliest') return earliest(marks);
  if (startFrom === 'latest') return new Map(marks.map(({ partition, high }) => [partition, high]));
  const epochMs = parseTime(startFrom);
  if (Number.isNaN(epochMs)) {
    throw new StartPositionError(
      `KAFKA_START_FROM=${startFrom} is neither earliest, latest, an ISO 8601 time with a zone, nor epoch milliseconds`,
    );
  }
  return admin.offsetsAt(topic, epochMs);
}

function earliest(marks: Watermarks[]): Map<number, bigint> {
  return new Map(marks.map(({ partition, low }) => [partition, low]));
}

/**
 * What is missing when the next offset to read is not in the topic, as text for a person; `undefined` when nothing
 * is. Below the beginning, retention or somebody deleted records that were never handled. Above the end, the topic
 * was made anew or cut, and what stands below is not what was handled.
 */
export function lostSpan(position: bigint, { low, high }: Watermarks): string | undefined {
  if (position < low) {
    return `offsets ${position} to ${low - 1n} (${low - position} records at most) were never handled and are no longer in the topic, which begins at ${low}`;
  }
  if (position > high) {
    return `offset ${position} is next, but the topic ends at ${high}: it was made anew or cut, and offsets ${low} to ${high} may hold records that were never handled`;
  }
  return undefined;
}
