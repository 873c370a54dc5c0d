/** What log lines say of records and commands: which they are, and nothing of what they hold. */
import { workflowIdOf } from '../commands';
import type { Command, Source } from '../commands';
import type { Logger } from '../log';
import { withoutValues } from './deadLetterRead';
import { referenceOf } from './describe';
import type { Decoded, KafkaRecord } from './records';

/** Fields of a line about a command. `workflowId` is its own, also where it goes with a group. */
export function aboutCommand(command: Command): { reference: string; workflowId: string; source: Source } {
  return { reference: referenceOf(command), workflowId: workflowIdOf(command), source: command.input.source };
}

/** Fields of a line about a record that cannot be handled; reading it may be what fails. */
export function aboutRecord(record: KafkaRecord, decode: (record: KafkaRecord) => Decoded): object {
  try {
    const decoded = decode(record);
    return decoded.became === 'command' ? aboutCommand(decoded.command) : { source: sourceOf(record) };
  } catch {
    return { source: sourceOf(record) };
  }
}

/** A reason names values of the event: they are for those who asked for them. */
export function tellDeadLetter(record: KafkaRecord, reason: string, log: Logger): void {
  log.warn({ source: sourceOf(record), reason: withoutValues(reason) }, 'dead letter');
  log.debug({ source: sourceOf(record), reason }, 'dead letter, with its values');
}

/** Where a record stands. */
export function sourceOf({ topic, partition, offset }: Source): Source {
  return { topic, partition, offset };
}
