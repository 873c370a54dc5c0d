/** Which records of a topic a verb means. */
import type { Command } from 'commander';
import type { Wish } from '../bridge/replaySpans';
import type { TopicName } from '../bridge/topics';
import type { Config } from '../config';
import { topicSettings } from '../connections';
import { UsageError, visible } from './context';
import { number, time } from './trace';

export interface SpanOptions {
  from?: number;
  to?: number;
  partition?: number;
  offsets?: string;
}

/** The options that say which records are meant. */
export function spanOptions(command: Command): Command {
  return command
    .option(
      '--from <time>',
      'from the first record of this time on (ISO 8601 with a zone, or epoch ms)',
      time,
    )
    .option('--to <time>', 'up to, not including, the first record of this time', time)
    .option('--partition <n>', 'only this partition', number)
    .option('--offsets <a..b>', 'of that partition: from offset a up to, not including, b');
}

/** @throws UsageError */
export function wishOf(options: SpanOptions): Wish {
  const wish: Wish = { fromMs: options.from, toMs: options.to, partition: options.partition };
  if (options.offsets === undefined) return wish;
  const match = /^(\d{1,18})\.\.(\d{1,18})$/.exec(options.offsets);
  if (!match) throw new UsageError('--offsets looks like 100..200');
  if (options.from !== undefined || options.to !== undefined)
    throw new UsageError('give either times or offsets');
  return { ...wish, offsets: { from: BigInt(match[1]!), to: BigInt(match[2]!) } };
}

/** @throws UsageError when the program has no rules for the topic */
export function topicOf(config: Config, given: string): string {
  const { topics } = topicSettings(config);
  if (given in topics) return topics[given as TopicName];
  if (Object.values(topics).includes(given)) return given;
  throw new UsageError(`${visible(given)} is none of the event topics: ${Object.values(topics).join(', ')}`);
}
