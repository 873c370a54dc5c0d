/** Processes of the product that end: killed, asked to stop, or dying at a named moment. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CrashPoint } from '../../../crashPoint';
import { BRIDGES, WORKERS, type Lab } from '../lab';
import type { Fault } from './fault';

/** While it is away the others have to do without it. */
const AWAY_MS = 3_000;

function killed(name: string, processes: string[], signal: 'SIGKILL' | 'SIGTERM'): Fault {
  return {
    name,
    does: `${signal} to ${processes.join(', ')}, started again ${AWAY_MS / 1000} s later`,
    inject: async (lab) => {
      const before = lab.load.published;
      const ends = await Promise.all(processes.map((process) => lab.product.kill(process, signal)));
      await sleep(AWAY_MS);
      return {
        heal: async () => void (await Promise.all(processes.map((process) => lab.product.start(process)))),
        bitten: () => {
          const wanted = signal === 'SIGKILL' ? 'SIGKILL' : 'exit code 0';
          if (ends.some((end) => end !== wanted)) throw new Error(`ended with ${ends.join(', ')}`);
          return `ended with ${wanted}; ${lab.load.published - before} records came meanwhile`;
        },
      };
    },
  };
}

/** What has to happen for a process to pass the moment, beyond the load; its log begins at `from`. */
type Provoke = (lab: Lab, process: string, from: number) => Promise<unknown>;

function crashed(
  point: CrashPoint,
  process: string,
  count: number,
  provoke: Provoke = () => Promise.resolve(),
): Fault {
  return {
    name: `crash-${point}`,
    does: `${process} dies at the moment \`${point}\``,
    inject: async (lab) => {
      await lab.product.kill(process, 'SIGTERM');
      const from = lab.product.log(process).length;
      await lab.product.start(process, { env: { CRASH_POINT: `${point}:${count}` }, atOnce: true });
      const end = lab.product.end(process, 90_000);
      await provoke(lab, process, from);
      const how = await end;
      return {
        heal: () => lab.product.start(process),
        bitten: () => {
          const said = lab.product.log(process).slice(from).includes(`crash point ${point}\n`);
          if (how !== 'SIGKILL' || !said) throw new Error(`ended with ${how ?? 'nothing'}, said so: ${said}`);
          return `its log ends at the moment, ended with ${how}`;
        },
      };
    },
  };
}

/** Broken messages everywhere, until it dies of one. */
const broken: Provoke = async (lab, process) => {
  for (let tries = 0; tries < 60 && lab.product.isRunning(process); tries++) {
    await lab.load.send(Array.from({ length: 8 }, () => lab.load.make.broken()));
    await sleep(1_000);
  }
};

const drain: Provoke = async (lab, process, from) => {
  const joined = () => lab.product.log(process).slice(from).includes('joined the consumer group');
  await lab.until('the bridge reads', joined, 60_000);
  await sleep(2_000);
  lab.product.signal(process, 'SIGTERM');
};

export const PROCESS_FAULTS: Fault[] = [
  killed('kill-bridge', ['bridge-1'], 'SIGKILL'),
  killed('kill-worker', ['worker-1'], 'SIGKILL'),
  killed('kill-both', ['bridge-2', 'worker-2'], 'SIGKILL'),
  killed('kill-all', [...BRIDGES, ...WORKERS], 'SIGKILL'),
  killed('term-bridge', ['bridge-1'], 'SIGTERM'),
  killed('term-worker', ['worker-1'], 'SIGTERM'),
  killed('term-all', [...BRIDGES, ...WORKERS], 'SIGTERM'),
  crashed('after-fetch', 'bridge-1', 2),
  crashed('after-start', 'bridge-1', 5),
  crashed('after-dead-letter', 'bridge-1', 1, broken),
  crashed('during-commit', 'bridge-1', 3),
  crashed('during-drain', 'bridge-1', 1, drain),
  crashed('in-transaction', 'worker-1', 3),
  crashed('after-commit', 'worker-1', 3),
];
