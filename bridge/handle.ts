/** What becomes of one record: a workflow, a dead letter, or nothing. */
import { crashPoint } from '../crashPoint';
import { metrics } from '../metrics';
import type { ConsumerSettings } from './consume';
import type { Decoded, KafkaRecord } from './records';
import { sourceOf, tellDeadLetter } from './tell';

/**
 * Resolves when what the record stands for is durable, with what it became.
 * @throws Unavailable when trying again later can help; any other error is a bug
 */
export async function handleRecord(
  { decode, starter, deadLetters, log }: ConsumerSettings,
  record: KafkaRecord,
  signal: AbortSignal,
): Promise<Decoded> {
  const decoded = decode(record);
  if (decoded.became === 'command') {
    const result = await starter.start(decoded.command, signal);
    metrics.starts.inc({ workflow: decoded.command.type, result });
    crashPoint('after-start');
    metrics.handoverSeconds.observe(Math.max(0, Date.now() - Number(record.timestamp)) / 1_000);
  } else if (decoded.became === 'dead-letter') {
    await deadLetters.write(record, decoded.reason);
    tellDeadLetter(record, decoded.reason, log);
    crashPoint('after-dead-letter');
  } else log.debug({ source: sourceOf(record), reason: decoded.reason }, 'record ignored');
  return decoded;
}
