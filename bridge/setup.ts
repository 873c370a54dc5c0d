/** Topics of the bridge: made by `inventory setup` where missing, checked before it reads. */
import type { Kafka } from 'kafkajs';
import { KafkaAccessError, kafkaFault } from './kafkaFault';

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
    await admin.createTopics({
      waitForLeaders: true,
      topics: missing.map((topic) =>
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
    });
    return missing;
  });
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
