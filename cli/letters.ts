/** A dead letter as the verbs name it, and what would become of it now. */
import type { LetterState } from '../activities/deadLetterStates';
import type { Letter } from '../bridge/deadLetterRead';
import type { Wish } from '../bridge/replaySpans';
import type { Decoded, KafkaRecord } from '../bridge/topics';
import { UsageError, visible } from './context';

/** Partition and offset of `0:42`. @throws UsageError */
export function placeOf(id: string): Wish {
  const match = /^(\d{1,9}):(\d{1,18})$/.exec(id);
  if (!match) throw new UsageError(`${visible(id)} is no letter: an ID looks like 0:42`);
  const offset = BigInt(match[2]!);
  return { partition: Number(match[1]), offsets: { from: offset, to: offset + 1n } };
}

export function stateName(state: LetterState | undefined): string {
  return state?.state.toLowerCase() ?? 'open';
}

/** What a retry would come to: after a fix, or a changed setting, that is another answer than the one it died of. */
export function whatNow(decode: (record: KafkaRecord) => Decoded, { record }: Letter): string {
  try {
    const decoded = decode(record);
    if (decoded.became === 'command') return `would become a ${decoded.command.type} command`;
    return decoded.became === 'ignored'
      ? `would be ignored: ${decoded.reason}`
      : `still at fault: ${decoded.reason}`;
  } catch (error) {
    return `still at fault: ${(error as Error).message}`;
  }
}
