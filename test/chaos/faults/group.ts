/** What happens to a consumer group and its topics: members come and go, offsets are moved, records disappear. */
import { setTimeout as sleep } from 'node:timers/promises';
import { EVENT_TOPICS, SALE } from '../events';
import { BRIDGES, GROUP, type Lab } from '../lab';
import { atLeast, type Fault } from './fault';

const JOINED = 'joined the consumer group';
const GUESTS = ['bridge-3', 'bridge-4'];
const ROUNDS = 3;
const STAY_MS = 4_000;
const LOST = 20;
const DOUBLING_MS = 10_000;

const rebalances: Fault = {
  name: 'rebalance-storm',
  does: `two more bridges join and leave ${ROUNDS} times, within seconds`,
  inject: async (lab) => {
    const before = joins(lab);
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all(GUESTS.map((name) => lab.product.start(name)));
      await sleep(STAY_MS);
      await Promise.all(GUESTS.map((name) => lab.product.kill(name, 'SIGTERM')));
    }
    return {
      bitten: () => atLeast(ROUNDS * 2, joins(lab) - before, 'times the two that stayed had to join again'),
    };
  },
};

const reset: Fault = {
  name: 'reset-offsets',
  does: "the group's offsets set back to the beginning of every event topic",
  inject: async (lab) => {
    await emptyGroup(lab);
    let again = 0n;
    for (const topic of EVENT_TOPICS) {
      for (const { committed, low } of await lab.offsets(topic))
        again += committed < 0n ? 0n : committed - low;
      await lab.admin.resetOffsets({ groupId: GROUP, topic, earliest: true });
    }
    return {
      heal: async () => void (await Promise.all(BRIDGES.map((name) => lab.product.start(name)))),
      bitten: () => atLeast(1, Number(again), 'records were passed once and came again'),
    };
  },
};

/** Only the lost documents are in the span, so that the model knows exactly what is gone. */
const lostSpan: Fault = {
  name: 'lost-span',
  does: `${LOST} records deleted before they were handled; accepted with \`inventory accept-gap\``,
  inject: async (lab) => {
    await lab.load.pause();
    await lab.until('the group has passed everything', async () => (await lab.behind()) === 0, 180_000);
    await emptyGroup(lab);
    const lost = Array.from({ length: LOST }, () => lab.load.make.sale(['HOT']));
    for (const { document } of lost) document.fate = 'lost';
    await lab.load.publish(
      lost.flatMap(({ messages }) => messages),
      0,
    );
    const before = await first(lab);
    await lab.admin.deleteTopicRecords({
      topic: SALE,
      partitions: [{ partition: 0, offset: String(before.high) }],
    });
    lab.load.resume();
    await Promise.all(BRIDGES.map((name) => lab.product.start(name)));
    await lab.until('a bridge names the lost span', () => spanIn(lab) !== undefined, 90_000);
    await sleep(5_000);
    const stopped = await first(lab);
    const accepted = await lab.product.cli(
      'accept-gap',
      SALE,
      '--partition',
      '0',
      '--actor',
      'chaos',
      '--reason',
      'deleted on purpose',
    );
    return {
      bitten: () => {
        if (stopped.committed !== before.committed)
          throw new Error('the offset moved before anybody accepted');
        if (accepted.code !== 0) throw new Error(`accept-gap: ${accepted.out}${accepted.err}`);
        return `partition stopped at ${before.committed}: ${spanIn(lab)}; accept-gap: ${accepted.out.trim()}`;
      },
    };
  },
};

const doubled: Fault = {
  name: 'doubled-producer',
  does: `for ${DOUBLING_MS / 1000} s two producers publish every event, each on its own partition`,
  inject: async (lab) => {
    const before = lab.load.published;
    lab.load.copies = 2;
    await sleep(DOUBLING_MS);
    lab.load.copies = 1;
    return { bitten: () => atLeast(2, lab.load.published - before, 'records published, each twice') };
  },
};

function joins(lab: Lab): number {
  return BRIDGES.reduce((sum, name) => sum + lab.product.log(name).split(JOINED).length - 1, 0);
}

async function emptyGroup(lab: Lab): Promise<void> {
  await Promise.all(BRIDGES.map((name) => lab.product.kill(name, 'SIGTERM')));
  await lab.until(
    'the group is empty',
    async () => ['Empty', 'Dead'].includes((await lab.admin.describeGroups([GROUP])).groups[0]?.state ?? ''),
    60_000,
  );
}

async function first(lab: Lab) {
  return (await lab.offsets(SALE)).find(({ partition }) => partition === 0)!;
}

function spanIn(lab: Lab): string | undefined {
  for (const name of BRIDGES) {
    const found = /offsets \d+ to \d+ \(\d+ records at most\)/.exec(lab.product.log(name));
    if (found) return found[0];
  }
  return undefined;
}

export const GROUP_FAULTS: Fault[] = [rebalances, reset, lostSpan, doubled];
