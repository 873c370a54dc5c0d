/** Reads a span and says what each record would come to. */
import { createWriteStream, type WriteStream } from 'node:fs';
import { once } from 'node:events';
import type { Kafka } from 'kafkajs';
import type { Forecast, Verdict } from '../activities/forecast';
import { readSpans } from '../bridge/replayRead';
import type { Span } from '../bridge/replaySpans';
import type { Decoded, KafkaRecord } from '../bridge/topics';
import { workflowIdOf, type Command } from '../commands';
import { add, type Counts } from './replayCounts';

export interface ForecastSettings {
  kafka: Kafka;
  topic: string;
  spans: readonly Span[];
  decode: (record: KafkaRecord) => Decoded;
  forecast: Forecast;
  /** JSON lines, one per record. */
  out?: string | undefined;
  signal: AbortSignal;
  onProgress(records: number): void;
}

/** A record, and what it would come to. */
export type Judged = { record: KafkaRecord } & (
  | ({ command: Command } & Verdict)
  | { command?: undefined; verdict: 'ignored' | 'undecodable'; detail: string }
);

export async function forecastSpan(settings: ForecastSettings) {
  const counts: Counts = {};
  const out = settings.out === undefined ? undefined : createWriteStream(settings.out);
  let records = 0;
  const read = await readSpans({
    ...settings,
    onRecords: async (batch) => {
      for (const judged of await judgeRecords(batch, settings)) {
        add(counts, judged.verdict);
        if (out) await writeLine(out, judged);
      }
      settings.onProgress((records += batch.length));
    },
  });
  if (out) {
    out.end();
    await once(out, 'finish');
  }
  return { counts, records, notes: read.notes };
}

/** The records of a batch, in order. */
export async function judgeRecords(
  records: readonly KafkaRecord[],
  { decode, forecast }: Pick<ForecastSettings, 'decode' | 'forecast'>,
): Promise<Judged[]> {
  const decoded = records.map((record) => ({ record, decoded: decode(record) }));
  const commands = decoded.flatMap(({ decoded: one }) => (one.became === 'command' ? [one.command] : []));
  const verdicts = await forecast.next(commands);
  let next = 0;
  return decoded.map(({ record, decoded: one }): Judged => {
    if (one.became === 'command') return { record, command: one.command, ...verdicts[next++]! };
    const verdict = one.became === 'ignored' ? 'ignored' : 'undecodable';
    return { record, verdict, detail: one.reason };
  });
}

async function writeLine(out: WriteStream, { record, command, verdict, detail }: Judged): Promise<void> {
  const { topic, partition, offset } = record;
  const workflowId = command && workflowIdOf(command);
  const input = command?.input;
  const reference =
    input && 'referenceId' in input ? `${input.referenceType} ${input.referenceId}` : undefined;
  const line = JSON.stringify({ topic, partition, offset, verdict, reference, workflowId, detail });
  if (!out.write(`${line}\n`)) await once(out, 'drain');
}
