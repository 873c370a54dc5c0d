/**
 * Lost spans that a person has accepted. While a group has members, Kafka takes no commit for it from anybody else;
 * so the word is left where whoever owns the partition looks for it: as an offset of a second group that never reads,
 * with the accepted span beside it. Nobody has to stop a bridge.
 */
import type { Kafka } from 'kafkajs';
import type { TopicPartition } from './records';

/** The group stood at `from`; it may go on at `next`. */
export interface AcceptedGap {
  from: bigint;
  next: bigint;
}

/** Name of the group in which the word is left; whoever accepts needs the right to commit for it. */
export function gapGroup(groupId: string): string {
  return `${groupId}.accepted-gaps`;
}

/** Reads what {@link leaveWord} wrote; undefined for anything else. */
export function readGap(next: bigint, metadata: string | null): AcceptedGap | undefined {
  const match = /^from (\d{1,19})$/.exec(metadata ?? '');
  return match ? { from: BigInt(match[1]!), next } : undefined;
}

/** Leaves the word for the bridges of a group; the last one for a partition counts. */
export async function leaveWord(
  kafka: Kafka,
  groupId: string,
  { topic, partition }: TopicPartition,
  { from, next }: AcceptedGap,
): Promise<void> {
  const offset = { partition, offset: next.toString(), metadata: `from ${from}` };
  await commitAsMember(kafka, gapGroup(groupId), topic, [offset]);
}

/** Commits for a group that has no members: joining it is the quick way that this client has. Reads nothing. */
export async function commitAsMember(
  kafka: Kafka,
  groupId: string,
  topic: string,
  offsets: { partition: number; offset: string; metadata?: string }[],
): Promise<void> {
  const consumer = kafka.consumer({ groupId, allowAutoTopicCreation: false, maxWaitTimeInMs: 50 });
  await consumer.connect();
  try {
    await consumer.subscribe({ topic });
    const running = consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: () => Promise.resolve(),
    });
    // It must not fetch: out of range, this client would move the offset again by itself.
    consumer.pause([{ topic }]);
    await running;
    await consumer.commitOffsets(offsets.map((one) => ({ topic, ...one })));
  } finally {
    await consumer.disconnect();
  }
}
