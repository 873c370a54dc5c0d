/** The bridge as a whole: Kafka in, durable workflows out. */
import type { Kafka } from 'kafkajs';
import type { Logger } from '../log';
import { metrics } from '../metrics';
import { runConsumer } from './consume';
import type { ConsumerLimits } from './consume';
import { createDeadLetters } from './deadLetters';
import { PAUSE_REASONS } from './records';
import type { Decoded, KafkaRecord } from './records';
import type { Starter } from './start';

export interface BridgeSettings {
  /** From `openKafka`. */
  kafka: Kafka;
  groupId: string;
  /** Topics to read; each must exist. */
  topics: string[];
  /** Topic for dead letters; must exist. */
  deadLetterTopic: string;
  /** `earliest`, `latest`, ISO 8601 time or epoch milliseconds: only for a group that never committed. */
  startFrom?: string | undefined;
  decode: (record: KafkaRecord) => Decoded;
  starter: Starter;
  limits?: Partial<ConsumerLimits>;
  log: Logger;
}

export interface RunningBridge {
  /** For readiness: not ready while any partition waits, each with its reason. */
  state(): { ready: boolean; reasons: string[] };
  /** Stops fetching, lets begun starts finish, commits, disconnects. Bounded. Call it before stopping the worker. */
  drain(): Promise<void>;
  /** Resolves after `drain`. Rejects when the bridge gave up: the process should end with an error. */
  done: Promise<void>;
}

/**
 * Resolves when the bridge fetches.
 * @throws StartPositionError or RangeError when the set-up is at fault, GaveUp when Kafka cannot be reached
 */
export async function runBridge(settings: BridgeSettings): Promise<RunningBridge> {
  const deadLetters = createDeadLetters(settings.kafka, settings.deadLetterTopic);
  const { deadLetterTopic, ...consumerSettings } = settings;
  // Prometheus sees no increase in a series that begins at 1.
  for (const topic of settings.topics) metrics.deadLetters.inc({ topic }, 0);
  for (const reason of PAUSE_REASONS) metrics.pauses.inc({ reason }, 0);
  try {
    const consumer = await runConsumer({ ...consumerSettings, deadLetters, alsoNeeded: [deadLetterTopic] });
    const done = consumer.done.finally(() => deadLetters.close());
    done.catch(() => undefined);
    return {
      state: () => {
        const reasons = consumer.reasons();
        return { ready: reasons.length === 0, reasons };
      },
      drain: async () => {
        await consumer.drain();
        await deadLetters.close();
      },
      done,
    };
  } catch (error) {
    await deadLetters.close();
    throw error;
  }
}
