/** Sends dead letters back to where they came from: the same key, value, headers and time. */
import { Partitioners, type IHeaders, type Kafka } from 'kafkajs';
import type { Letter } from './deadLetterRead';
import { openAdmin } from './kafka';

/** Headers of an edited copy: which letter it was, and who edited it. */
export const EDITED_HEADERS = {
  from: 'inventory.dead-letter.edited-from',
  by: 'inventory.dead-letter.edited-by',
} as const;

export interface Sent {
  topic: string;
  partition: number;
  offset: string;
}

export interface Sender {
  /**
   * Resolves when all in-sync replicas have the record. Sent twice it is a redelivery, which the ledger answers.
   * @param edit another value, with who wrote it
   * @throws Error when the topic is gone or does not take it
   */
  send(letter: Letter, edit?: { value: Buffer; actor: string }): Promise<Sent>;
  close(): Promise<void>;
}

export async function openSender(kafka: Kafka): Promise<Sender> {
  const admin = await openAdmin(kafka);
  const producer = kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  const partitions = new Map<string, Set<number>>();
  const known = await admin.topics();
  return {
    send: async (letter, edit) => {
      const { topic, partition, key, value, timestamp, headers } = letter.record;
      if (!known.includes(topic)) throw new Error(`its topic ${JSON.stringify(topic)} does not exist`);
      if (!partitions.has(topic)) {
        partitions.set(topic, new Set((await admin.watermarks(topic)).map((mark) => mark.partition)));
      }
      const named: IHeaders = { ...(headers as IHeaders) };
      if (edit) Object.assign(named, { [EDITED_HEADERS.from]: letter.key, [EDITED_HEADERS.by]: edit.actor });
      const [sent] = await producer.send({
        topic,
        acks: -1,
        messages: [
          {
            key,
            value: edit ? edit.value : value,
            headers: named,
            // The event's own time: where an event says none itself, it is when it happened.
            timestamp,
            // Where it was, so that it keeps its place among the others of its key; a smaller topic decides anew.
            ...(partitions.get(topic)!.has(partition) ? { partition } : {}),
          },
        ],
      });
      return { topic, partition: sent?.partition ?? partition, offset: sent?.baseOffset ?? '' };
    },
    close: async () => {
      await producer.disconnect();
      await admin.close();
    },
  };
}
