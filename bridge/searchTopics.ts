/** Whether the topics still hold the events of a document, for a reference that the ledger does not know. */
import type { Kafka } from 'kafkajs';
import { openAdmin } from './kafka';
import type { Decoded, KafkaRecord } from './records';
import { readSpans } from './replayRead';
import { resolveSpans, spanSize, type Wish } from './replaySpans';

export interface Hit {
  topic: string;
  partition: number;
  offset: string;
  /** ISO 8601, of the record. */
  at: string;
  /** `command`: an event of this document. `dead-letter`, `ignored`: the ID stands in it, and why nothing came of it. */
  became: Decoded['became'];
  reason?: string;
}

export interface SearchSettings {
  kafka: Kafka;
  topics: readonly string[];
  decode: (record: KafkaRecord) => Decoded;
  referenceId: string;
  span?: Wish;
  onProgress?(read: number, of: number): void;
}

/** Reads the topics from end to end, which takes its time; memory stays flat. */
export async function searchTopics(settings: SearchSettings): Promise<{ hits: Hit[]; notes: string[] }> {
  const { kafka, referenceId } = settings;
  const hits: Hit[] = [];
  const notes: string[] = [];
  const needle = Buffer.from(referenceId);
  const admin = await openAdmin(kafka);
  try {
    let read = 0;
    for (const topic of settings.topics) {
      const { spans, notes: said } = await resolveSpans(admin, topic, settings.span ?? {});
      const of = read + spanSize(spans);
      notes.push(...said);
      const onRecords = (records: KafkaRecord[]) => {
        for (const record of records) {
          // Decoding is for the few records in which the ID stands as text at all, or escaped.
          if (record.value?.includes(needle) || record.value?.includes('\\u')) look(record);
        }
        settings.onProgress?.((read += records.length), of);
        return Promise.resolve();
      };
      const result = await readSpans({ kafka, topic, spans, onRecords });
      notes.push(...result.notes);
    }
  } finally {
    await admin.close();
  }
  return { hits, notes };

  function look(record: KafkaRecord): void {
    const { topic, partition, offset, timestamp } = record;
    const hit = { topic, partition, offset, at: new Date(Number(timestamp)).toISOString() };
    const decoded = settings.decode(record);
    if (decoded.became !== 'command') {
      if (record.value?.includes(needle))
        hits.push({ ...hit, became: decoded.became, reason: decoded.reason });
      return;
    }
    const { input } = decoded.command;
    const id =
      'referenceId' in input ? input.referenceId : 'variantId' in input ? input.variantId : input.merchantId;
    if (id === referenceId || id.startsWith(`${referenceId}#`)) hits.push({ ...hit, became: 'command' });
  }
}
