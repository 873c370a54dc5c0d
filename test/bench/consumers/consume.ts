/** What the contenders on plain kafkajs share: settings from the environment, a consumer, a line when it reads. */
import { Kafka, logLevel } from 'kafkajs';
import { readMovement, type Movement } from './movement';

/** Set by the harness for every contender. */
export function setting(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: this program is started by npm run bench`);
  return value;
}

/** The harness waits for this line in the log. */
export const READY = 'contender reads';

/**
 * Reads both topics of the run, all partitions at once.
 * @param most events handed over together; their offsets pass, and a heartbeat goes out, when `handle` resolves
 */
export async function consume(most: number, handle: (movements: Movement[]) => Promise<void>): Promise<void> {
  const kafka = new Kafka({ brokers: [setting('KAFKA_BROKERS')], logLevel: logLevel.ERROR });
  const consumer = kafka.consumer({ groupId: setting('KAFKA_GROUP_ID') });
  await consumer.connect();
  await consumer.subscribe({ topics: setting('BENCH_TOPICS').split(','), fromBeginning: true });
  consumer.on(consumer.events.GROUP_JOIN, () => void process.stdout.write(`${READY}\n`));
  await consumer.run({
    partitionsConsumedConcurrently: 4,
    eachBatchAutoResolve: false,
    eachBatch: async (payload) => {
      const { topic, partition, messages } = payload.batch;
      for (let from = 0; from < messages.length; from += most) {
        const chunk = messages.slice(from, from + most);
        await handle(
          chunk.map(({ value, offset }) => readMovement(value!.toString(), { topic, partition, offset })),
        );
        payload.resolveOffset(chunk.at(-1)!.offset);
        await payload.heartbeat();
      }
    },
  });
}
