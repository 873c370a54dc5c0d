/** Clocks that are wrong, and deployments that should not be there. */
import { writeFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TASK_QUEUE, WORKERS } from '../lab';
import { atLeast, type Fault } from './fault';

const DAY_MS = 86_400_000;
const SKEWED_MS = 10_000;
const BESIDE_MS = 20_000;
const SHIFT = path.join(__dirname, '..', 'preloads', 'shiftedClock.js');
const OTHER_BUNDLE = path.join(__dirname, '..', 'preloads', 'otherBundle.js');
const BUNDLE = path.join(__dirname, '..', '..', '..', 'workflow-bundle.js');

const producerClock: Fault = {
  name: 'producer-clock',
  does: `for ${SKEWED_MS / 1000} s a producer's clock is 400 days ahead, then 400 days behind`,
  inject: async (lab) => {
    for (const days of [400, -400]) {
      lab.load.clockSkewMs = days * DAY_MS;
      await sleep(SKEWED_MS / 2);
    }
    lab.load.clockSkewMs = 0;
    return {
      bitten: async () => {
        const ahead = { $expr: { $gt: ['$occurredAt', { $add: ['$recordedAt', 300 * DAY_MS] }] } };
        const found = await lab.until(
          'an entry',
          async () => (await lab.tracking.countDocuments(ahead)) || false,
          60_000,
        );
        return atLeast(1, found, 'entries that happened a year after they were recorded');
      },
    };
  },
};

/** Bridge and worker of another deployment, by mistake on the same group and queue. */
const twice: Fault = {
  name: 'two-deployments',
  does: `another deployment whose clock is 37 days ahead runs on the same group and queue for ${BESIDE_MS / 1000} s`,
  inject: async (lab) => {
    const other = ['bridge-9', 'worker-9'];
    const options = { preloads: [SHIFT], env: { CHAOS_CLOCK_SHIFT_MS: String(37 * DAY_MS) } };
    await Promise.all(other.map((name) => lab.product.start(name, options)));
    await sleep(BESIDE_MS);
    await Promise.all(other.map((name) => lab.product.kill(name, 'SIGTERM')));
    return {
      bitten: async () => {
        const future = await lab.tracking.countDocuments({
          recordedAt: { $gt: new Date(Date.now() + 30 * DAY_MS) },
        });
        const joined = /joined the consumer group/.test(lab.product.log('bridge-9'));
        if (!joined) throw new Error('its bridge never joined the group');
        return `${atLeast(1, future, 'entries recorded in the future')}, its bridge was a member`;
      },
    };
  },
};

/** The same workflows, built with another text of theirs: workflows that began in one build go on in the other. */
const otherBuild: Fault = {
  name: 'other-build',
  does: 'both workers replaced by ones with a changed, compatible workflow bundle',
  inject: async (lab) => {
    const file = path.join(lab.settings.dir, 'other-bundle.js');
    const code = readFileSync(BUNDLE, 'utf8');
    const changed = code.replaceAll('Looks again in', 'Will look again in');
    if (changed === code) throw new Error('the bundle does not hold the text that is to change');
    writeFileSync(file, changed);
    const before = await builds(lab.temporal);
    for (const name of WORKERS) {
      await lab.product.kill(name, 'SIGTERM');
      await lab.product.start(name, { preloads: [OTHER_BUNDLE], env: { CHAOS_BUNDLE: file } });
    }
    return {
      bitten: async () => {
        const after = await lab.until(
          'a worker of another build polls',
          async () => {
            const found = await builds(lab.temporal);
            return [...found].some((build) => !before.has(build)) && found;
          },
          60_000,
        );
        return `builds ${[...before].map(short).join(', ')} before, ${[...after].map(short).join(', ')} after`;
      },
    };
  },
};

type Temporal = Parameters<Fault['inject']>[0]['temporal'];

async function builds({ workflowService }: Temporal): Promise<Set<string>> {
  const { pollers } = await workflowService.describeTaskQueue({
    namespace: 'default',
    taskQueue: { name: TASK_QUEUE },
    taskQueueType: 1,
  });
  return new Set((pollers ?? []).flatMap((poller) => poller.workerVersionCapabilities?.buildId ?? []));
}

function short(build: string): string {
  return build.slice(-8);
}

export const DEPLOYMENT_FAULTS: Fault[] = [producerClock, twice, otherBuild];
