import type { Command } from 'commander';
import { recordGap } from '../activities/acceptedGaps';
import { Long } from '../activities/models';
import { leaveWord } from '../bridge/gaps';
import { openAdmin } from '../bridge/kafka';
import { lostSpan } from '../bridge/positions';
import { partitionName } from '../bridge/records';
import { sleep } from '../bridge/waiting';
import { signatureFault } from '../decisions';
import { EXIT, print, printJson, quietKafka, settings, UsageError, visible, withDatabase } from './context';
import { topicOf } from './span';
import { number } from './trace';

interface Options {
  partition: number;
  actor: string;
  reason: string;
  json?: boolean;
}

/** A paused partition is looked at again after a minute at most. */
const TAKEN_UP_WITHIN_MS = 80_000;

/** `inventory accept-gap`: a person says that records which are gone are gone. */
export function registerAcceptGap(program: Command): void {
  program
    .command('accept-gap')
    .description(
      'let a partition go on whose next records are no longer in the topic; the bridges keep running\n' +
        'exit code 0: accepted, 1: nothing is missing there, 2: could not run',
    )
    .argument('<topic>', 'the topic, by its own name or by that of its setting')
    .requiredOption('--partition <n>', 'the partition that stopped', number)
    .requiredOption('--actor <who>', 'who accepts the loss; kept in inventory_accepted_gap')
    .requiredOption('--reason <why>', 'why; kept there')
    .option('--json', 'print what was accepted as JSON')
    .action(run);
}

async function run(given: string, { partition, actor, reason, json }: Options): Promise<void> {
  const fault = signatureFault({ actor, reason });
  if (fault !== undefined) throw new UsageError(`--${fault}`);
  const config = settings();
  const topic = topicOf(config, given);
  const groupId = config.KAFKA_GROUP_ID;
  const kafka = quietKafka(config);
  const name = partitionName({ topic, partition });
  const admin = await openAdmin(kafka);
  try {
    const marks = await admin.watermarks(topic);
    const at = marks.find((mark) => mark.partition === partition);
    if (!at) {
      throw new UsageError(`--partition ${partition}: ${topic} has the partitions 0 to ${marks.length - 1}`);
    }
    const committed = async () => (await admin.committed(groupId, topic)).get(partition);
    const from = await committed();
    const missing = from === undefined ? undefined : lostSpan(from, at);
    if (from === undefined || missing === undefined) {
      process.exitCode = EXIT.foundSomething;
      const why =
        from === undefined
          ? `group ${visible(groupId)} has committed nothing for it`
          : `offset ${from} is next, and the topic holds ${at.low} to ${at.high}`;
      if (json) printJson({ accepted: false, why });
      else print(`${name}: nothing to accept: ${why}`);
      return;
    }
    // First who said so, then the word itself: a crash in between leaves the partition stopped, and it is asked again.
    const next = at.low;
    const recorded = await withDatabase(config, (database) =>
      recordGap(database, {
        group: groupId,
        topic,
        partition,
        from: Long.fromBigInt(from),
        next: Long.fromBigInt(next),
        missing,
        actor,
        reason,
        at: new Date(),
      }),
    );
    await leaveWord(kafka, groupId, { topic, partition }, { from, next });
    const takenUp = await waitFor(async () => (await committed()) !== from);
    if (json) {
      printJson({
        accepted: true,
        takenUp,
        topic,
        partition,
        from: `${from}`,
        next: `${next}`,
        missing,
        actor: recorded.actor,
      });
      return;
    }
    print(visible(`${name}: ${missing}`));
    print(visible(`accepted by ${recorded.actor}: ${recorded.reason}`));
    print(
      takenUp
        ? `the bridge goes on at ${next}`
        : `no bridge has gone on yet; one that runs does so at ${next} within a minute`,
    );
  } finally {
    await admin.close();
  }
}

async function waitFor(ask: () => Promise<boolean>): Promise<boolean> {
  for (const end = Date.now() + TAKEN_UP_WITHIN_MS; Date.now() < end; await sleep(500)) {
    if (await ask()) return true;
  }
  return false;
}
