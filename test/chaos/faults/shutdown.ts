/** Deployments that end at a bad moment: with a server away, and with an operator who loses patience. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lab } from '../lab';
import type { Fault } from './fault';

const WITHIN_MS = 60_000;
/** Until activities have failed often enough to be retried as regular ones. */
const FAILING_MS = 8_000;

function whileAway(
  server: 'mongo' | 'temporal',
  processes: string[],
  isFelt: (lab: Lab) => Promise<unknown>,
): Fault {
  return {
    name: `term-without-${server}`,
    does: `SIGTERM to ${processes.join(', ')} while ${server} is away`,
    inject: async (lab) => {
      const proxy = lab.proxies[server];
      const before = proxy.counts.refused;
      proxy.rule = { refuse: true };
      proxy.cut();
      await isFelt(lab);
      const began = Date.now();
      const ends = await Promise.all(processes.map((name) => ended(lab, name)));
      const seconds = (Date.now() - began) / 1_000;
      return {
        heal: async () => {
          proxy.heal();
          await Promise.all(processes.map((name) => lab.product.start(name)));
        },
        bitten: () => {
          if (ends.some((end) => end !== 'exit code 0')) throw new Error(`ended with ${ends.join(', ')}`);
          return `${proxy.counts.refused - before} connections refused, all drained with exit code 0 in ${seconds.toFixed(1)} s at most`;
        },
      };
    },
  };
}

const twice: Fault = {
  name: 'term-twice',
  does: 'SIGTERM to bridge-1 and worker-1, and another one as soon as they have noticed',
  inject: async (lab) => {
    const names = ['bridge-1', 'worker-1'];
    const ends = await Promise.all(
      names.map(async (name) => {
        const end = lab.product.end(name, WITHIN_MS);
        const noticed = () => lab.product.log(name).split('a second signal ends at once').length;
        const before = noticed();
        lab.product.signal(name, 'SIGTERM');
        for (const until = Date.now() + WITHIN_MS; noticed() === before && Date.now() < until;)
          await sleep(5);
        const began = Date.now();
        lab.product.signal(name, 'SIGTERM');
        return { how: await end, ms: Date.now() - began };
      }),
    );
    return {
      heal: async () => void (await Promise.all(names.map((name) => lab.product.start(name)))),
      bitten: () => {
        const said = ends.map(({ how, ms }) => `${how ?? 'not ended'} after ${ms} ms`).join(', ');
        // One that had nothing to finish is gone before the second signal, or so far gone that Node listens no more.
        const drained = ['exit code 0', 'SIGTERM'];
        if (!ends.some(({ how }) => how === 'exit code 143')) throw new Error(said);
        if (ends.some(({ how }) => how !== 'exit code 143' && !drained.includes(how ?? '')))
          throw new Error(said);
        return said;
      },
    };
  },
};

async function ended(lab: Lab, name: string): Promise<string> {
  const end = lab.product.end(name, WITHIN_MS);
  lab.product.signal(name, 'SIGTERM');
  const how = await end;
  if (how !== undefined) return how;
  await lab.product.kill(name, 'SIGKILL');
  return `nothing within ${WITHIN_MS / 1000} s`;
}

export const SHUTDOWN_FAULTS: Fault[] = [
  whileAway('temporal', ['bridge-1', 'worker-1'], (lab) => {
    const paused = () => lab.product.log('bridge-1').split('partition paused').length;
    const before = paused();
    return lab.until('bridge-1 has paused a partition', () => paused() > before, 90_000);
  }),
  whileAway('mongo', ['worker-1', 'bridge-1'], () => sleep(FAILING_MS)),
  twice,
];
