/** More than the product can do at once, and the back-pressure that keeps it in Kafka. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BRIDGES, TASK_QUEUE, type Lab } from '../lab';
import type { Fault } from './fault';

/** Twice the session time-out of the group. */
const AWAY_MS = 60_000;
const BURST = 20_000;
const CHUNK = 2_000;
/** A bridge holds at most six groups and the fetches they come from, whatever waits in Kafka. */
const MOST_GROWTH_MB = 150;
/** Six groups and twenty single starts a bridge may be under way, beside what waits for stock or a person. */
const MOST_RUNNING = 300;

const temporalAway: Fault = {
  name: 'temporal-away',
  does: `Temporal away for ${AWAY_MS / 1000} s while events keep coming`,
  inject: async (lab) => {
    const before = notes(lab);
    await lab.stack.servers.temporal.kill('SIGKILL');
    await sleep(AWAY_MS);
    const after = notes(lab);
    const behind = await lab.behind();
    return {
      heal: () => lab.stack.servers.temporal.start(),
      bitten: () => {
        if (after.paused === before.paused) throw new Error('no partition was paused');
        if (after.joined !== before.joined) throw new Error('a bridge fell out of its group');
        const grown = after.memory.map((mb, i) => mb - before.memory[i]!);
        if (grown.some((mb) => mb > MOST_GROWTH_MB))
          throw new Error(`memory grew by ${grown.join(' and ')} MB`);
        const signs = [
          `${after.paused - before.paused} pauses`,
          'no rebalance',
          `${behind} records wait in Kafka`,
        ];
        return [
          ...signs,
          `the bridges went from ${before.memory.join(' and ')} to ${after.memory.join(' and ')} MB`,
        ].join(', ');
      },
    };
  },
};

const burst: Fault = {
  name: 'burst',
  does: `${BURST.toLocaleString('en')} records at once`,
  inject: async (lab) => {
    let most = 0;
    let over = false;
    const watching = (async () => {
      while (!over) {
        const { count } = await lab.temporal.workflow.count(
          `TaskQueue = '${TASK_QUEUE}' AND ExecutionStatus = 'Running'`,
        );
        most = Math.max(most, count);
        await sleep(500);
      }
    })();
    for (let sent = 0; sent < BURST; sent += CHUNK) {
      await lab.load.publish(
        Array.from({ length: CHUNK }, () => lab.load.make.sale()).flatMap(({ messages }) => messages),
      );
    }
    const behind = await lab.behind();
    const began = Date.now();
    await lab.until('the burst has passed', async () => (await lab.behind()) < 200, 300_000);
    const seconds = (Date.now() - began) / 1_000;
    over = true;
    await watching;
    return {
      bitten: () => {
        if (most > MOST_RUNNING) throw new Error(`${most} workflows ran at once`);
        return `${behind} records waited, passed in ${seconds.toFixed(0)} s, ${most} workflows at most ran at once, those that wait for a person included`;
      },
    };
  },
};

function notes(lab: Lab) {
  return {
    paused: lab.product.count('bridge', 'partition paused'),
    joined: lab.product.count('bridge', 'joined the consumer group'),
    memory: BRIDGES.map((name) => megabytes(lab.product.pid(name))),
  };
}

function megabytes(pid: number): number {
  const found = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Math.round(Number(found?.[1] ?? 0) / 1024);
}

export const PRESSURE_FAULTS: Fault[] = [temporalAway, burst];
