/** Topics of the bridge: made by `inventory setup` where missing, checked before it reads. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, ITopicConfig, Kafka } from 'kafkajs';
import { isNotKnownYet, KafkaAccessError, kafkaFault } from './kafkaFault';

/** A requirement that does not hold; the message ends with the remedy. */
export class KafkaCheckError extends Error {
  override readonly name = 'KafkaCheckError';
}

/** A dead letter carries its record and a few headers: it must fit wherever the record did. */
const DEAD_LETTER_MAX_BYTES = 10 * 1024 * 1024;

export interface TopicPlan {
  topics: readonly string[];
  deadLetterTopic: string;
}

/**
 * Creates missing topics with the broker's default partitions and replication; leaves existing ones as they are.
 * @returns names of the topics created
 */
export async function setupTopics(kafka: Kafka, plan: TopicPlan): Promise<string[]> {
  return withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.listTopics());
    const missing = [...plan.topics, plan.deadLetterTopic].filter((topic) => !existing.has(topic));
    if (missing.length === 0) return [];
    await createTopics(
      admin,
      missing.map((topic) =>
        topic === plan.deadLetterTopic
          ? {
              topic,
              configEntries: [
                { name: 'max.message.bytes', value: String(DEAD_LETTER_MAX_BYTES) },
                // Until a person has decided: a dead letter that expires is a lost event.
                { name: 'retention.ms', value: '-1' },
              ],
            }
          : { topic },
      ),
    );
    return missing;
  });
}

/**
 * Creates topics that do not exist yet, and returns once each of them can be used.
 * @throws what {@link untilKnown} throws, and the client's error when Kafka refuses one
 */
export async function createTopics(admin: Admin, topics: ITopicConfig[]): Promise<void> {
  await admin.createTopics({ topics, waitForLeaders: false });
  await untilKnown(
    admin,
    topics.map(({ topic }) => topic),
  );
}

/**
 * Waits until the leader of each partition answers for it. A new topic exists once the controller says so; brokers
 * learn of it from the controller's log a moment later, and the client's own wait (`waitForLeaders`) gives up when
 * one has not yet.
 * @throws KafkaCheckError after `withinMs`
 */
export async function untilKnown(admin: Admin, topics: string[], withinMs = 45_000): Promise<void> {
  const deadline = Date.now() + withinMs;
  for (const topic of topics) {
    while (!(await isKnown(admin, topic))) {
      if (Date.now() > deadline) {
        throw new KafkaCheckError(
          `Kafka created ${topic}, but after ${withinMs / 1_000} s a broker still does not know it: ` +
            'look at the logs of the brokers and of the controller',
        );
      }
      await sleep(100);
    }
  }
}

async function isKnown(admin: Admin, topic: string): Promise<boolean> {
  try {
    // Any broker says at once that it does not know the topic; the leaders themselves the client would ask for seconds.
    await admin.fetchTopicMetadata({ topics: [topic] });
    await admin.fetchTopicOffsets(topic);
    return true;
  } catch (error) {
    if (isNotKnownYet(error)) return false;
    throw error;
  }
}

/**
 * @returns what was found, one line
 * @throws KafkaCheckError
 */
export async function checkTopics(kafka: Kafka, plan: TopicPlan): Promise<string> {
  return withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.listTopics());
    const missing = [...plan.topics, plan.deadLetterTopic].filter((topic) => !existing.has(topic));
    if (missing.length > 0) {
      throw new KafkaCheckError(`topics ${missing.join(', ')} are missing: run \`inventory setup\``);
    }
    const { brokers } = await admin.describeCluster();
    return `Kafka with ${brokers.length} broker(s), ${plan.topics.length} topics and ${plan.deadLetterTopic} exist`;
  });
}

async function withAdmin<T>(
  kafka: Kafka,
  work: (admin: ReturnType<Kafka['admin']>) => Promise<T>,
): Promise<T> {
  const admin = kafka.admin({ retry: { retries: 3, initialRetryTime: 200 } });
  try {
    await admin.connect().catch((error: unknown) => {
      const fault = kafkaFault(error);
      if (fault instanceof KafkaAccessError) throw fault;
      throw new KafkaCheckError(
        `Kafka does not answer (${fault.message}); check KAFKA_BROKERS and that the server runs`,
        { cause: error },
      );
    });
    return await work(admin);
  } catch (error) {
    throw error instanceof KafkaCheckError ? error : kafkaFault(error);
  } finally {
    await admin.disconnect();
  }
}
