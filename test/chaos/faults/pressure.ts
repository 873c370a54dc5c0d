/** More than the product can do at once, and the back-pressure that keeps it in Kafka. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BRIDGES, type Lab } from '../lab';
import type { Fault } from './fault';

export interface Sizes {
  /** For how long a server is away; longer than the group's session time-out of 30 s. */
  awaySeconds: number;
  /** Records at once. */
  burst: number;
}

const CHUNK = 2_000;
const BURST_PASSES_MS = 600_000;
/** A bridge holds at most six groups and the fetches they come from, whatever waits in Kafka. */
const MOST_GROWTH_MB = 150;
/** A paused partition is looked at again after 75 s at most. */
const READY_WITHIN_MS = 90_000;
/** Six groups and some single starts a bridge may be under way, beside what waits for stock or a person. */
const MOST_RUNNING = 300;

const NAMES = { temporal: 'Temporal', mongo: 'MongoDB' };

/** Away with its data kept. */
function away(server: 'temporal' | 'mongo', { awaySeconds }: Sizes): Fault {
  return {
    name: `${server}-away`,
    does: `${NAMES[server]} away for ${awaySeconds} s while events keep coming`,
    inject: async (lab) => {
      const before = await notes(lab);
      const heal = () => lab.stack.servers[server].start();
      await lab.stack.servers[server].kill('SIGKILL');
      await sleep(awaySeconds * 1_000);
      // The faults that follow need the server, whatever is found here.
      const [after, behind] = await Promise.all([notes(lab), lab.behind()]).catch(async (error: unknown) => {
        await heal();
        throw error;
      });
      return {
        heal,
        bitten: async () => {
          if (after.paused === before.paused) throw new Error('no partition was paused');
          if (after.joined !== before.joined) throw new Error('a bridge fell out of its group');
          const grown = after.memory.map((mb, i) => mb - before.memory[i]!);
          if (grown.some((mb) => mb > MOST_GROWTH_MB))
            throw new Error(`memory grew by ${grown.join(' and ')} MB`);
          const silent = after.notReady.findIndex((reasons) => reasons === '');
          if (silent >= 0) throw new Error(`${BRIDGES[silent]} said that it was ready`);
          const isReady = async () => (await notReady(lab)).every((reasons) => reasons === '');
          await lab.until('both bridges say that they are ready again', isReady, READY_WITHIN_MS);
          return [
            `${after.paused - before.paused} pauses`,
            `not ready: "${after.notReady[0]!.split('; ')[0]}"`,
            'no rebalance',
            `${behind} records waited in Kafka`,
            `the bridges went from ${before.memory.join(' and ')} to ${after.memory.join(' and ')} MB`,
          ].join(', ');
        },
      };
    },
  };
}

function burst(sizes: Sizes): Fault {
  return {
    name: 'burst',
    does: `${sizes.burst.toLocaleString('en')} records at once`,
    inject: async (lab) => {
      let most = 0;
      let over = false;
      const watching = (async () => {
        while (!over) {
          // A question that gets no answer is asked again.
          most = Math.max(most, await lab.running().catch(() => 0));
          await sleep(500);
        }
      })();
      let behind = 0;
      let seconds = 0;
      try {
        for (let sent = 0; sent < sizes.burst; sent += CHUNK) {
          await lab.load.publish(
            Array.from({ length: CHUNK }, () => lab.load.make.sale()).flatMap(({ messages }) => messages),
          );
        }
        behind = await lab.behind();
        const began = Date.now();
        await lab.until('the burst has passed', async () => (await lab.behind()) < 200, BURST_PASSES_MS);
        seconds = (Date.now() - began) / 1_000;
      } finally {
        over = true;
        await watching;
      }
      return {
        bitten: () => {
          if (most > MOST_RUNNING) throw new Error(`${most} workflows ran at once`);
          return `${behind} records waited, passed in ${seconds.toFixed(0)} s, ${most} workflows at most ran at once, those that wait for a person included`;
        },
      };
    },
  };
}

async function notes(lab: Lab) {
  return {
    paused: lab.product.count('bridge', 'partition paused'),
    joined: lab.product.count('bridge', 'joined the consumer group'),
    memory: BRIDGES.map((name) => megabytes(lab.product.pid(name))),
    notReady: await notReady(lab),
  };
}

/** What each bridge says to a probe; empty when it says that it is ready. */
function notReady({ product }: Lab): Promise<string[]> {
  return Promise.all(BRIDGES.map((name) => product.notReady(name)));
}

function megabytes(pid: number): number {
  const found = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Math.round(Number(found?.[1] ?? 0) / 1024);
}

export function pressureFaults(sizes: Sizes): Fault[] {
  return [away('temporal', sizes), away('mongo', sizes), burst(sizes)];
}
