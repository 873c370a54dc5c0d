/** Servers that die with their data kept, freeze, or refuse. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerName } from '../../../stack/stack';
import type { Lab } from '../lab';
import { atLeast, type Fault } from './fault';

/** Longer than the group's session time-out of 30 s. */
const FROZEN_MS = 35_000;
const AWAY_MS = 3_000;
const REFUSING_MS = 10_000;

/** Commits are held back before the server, so that a transaction is open for certain when it dies. */
const killMongo: Fault = {
  name: 'kill-mongo',
  does: `kill -9 of MongoDB with a transaction open, started again ${AWAY_MS / 1000} s later`,
  inject: async (lab) => {
    const proxy = lab.proxies.mongo;
    const before = proxy.counts.held;
    proxy.rule = { holdAt: 'commitTransaction' };
    const open = await lab.until(
      'a transaction is open in MongoDB',
      async () => {
        const { transactions } = await lab.mongoClient.db('admin').command({ serverStatus: 1 });
        return (
          Number(transactions.currentOpen) > 0 &&
          proxy.counts.held > before &&
          Number(transactions.currentOpen)
        );
      },
      60_000,
    );
    await lab.stack.servers.mongo.kill('SIGKILL');
    const held = proxy.counts.held - before;
    proxy.rule = {};
    proxy.cut();
    await sleep(AWAY_MS);
    return {
      heal: () => lab.stack.servers.mongo.start(),
      bitten: () => `${open} transaction(s) open, ${held} commit(s) asked for and not there yet when it died`,
    };
  },
};

function killServer(name: 'kafka' | 'temporal', inFlight: string): Fault {
  return {
    name: `kill-${name}`,
    does: `kill -9 of ${name}, started again ${AWAY_MS / 1000} s later`,
    inject: async (lab) => {
      const before = lab.proxies[name].counts.closedByServer;
      await lab.stack.servers[name].kill('SIGKILL');
      await sleep(AWAY_MS);
      const broken = lab.proxies[name].counts.closedByServer - before;
      return {
        heal: () => lab.stack.servers[name].start(),
        bitten: () => atLeast(1, broken, inFlight),
      };
    },
  };
}

/** @param told what the product logs when it notices; none says so of MongoDB, whose activities fail in silence */
function freeze(name: ServerName): Fault {
  return {
    name: `freeze-${name}`,
    does: `SIGSTOP to ${name} for ${FROZEN_MS / 1000} s, longer than the session time-out`,
    inject: async (lab) => {
      const { counts } = lab.proxies[name];
      const asked = counts.askedBytes;
      const answered = counts.answeredBytes;
      await lab.stack.servers[name].kill('SIGSTOP');
      await sleep(FROZEN_MS);
      const silence = { asked: counts.askedBytes - asked, answered: counts.answeredBytes - answered };
      return {
        heal: () => lab.stack.servers[name].kill('SIGCONT'),
        bitten: () => {
          if (silence.asked === 0) throw new Error('the product asked nothing while it was frozen');
          return `${silence.asked} bytes asked, ${silence.answered} answered in ${FROZEN_MS / 1000} s`;
        },
      };
    },
  };
}

/** MongoDB's own word for a full disk, for every write and every commit. */
const refuseWrites: Fault = {
  name: 'mongo-full-disk',
  does: `MongoDB answers every write with OutOfDiskSpace for ${REFUSING_MS / 1000} s`,
  inject: async (lab) => {
    await failCommands(lab, 'alwaysOn', {
      errorCode: 14_031,
      failCommands: ['insert', 'update', 'commitTransaction'],
    });
    await sleep(REFUSING_MS);
    const refused = await failCommands(lab, 'off');
    return { bitten: () => atLeast(1, refused, 'writes refused') };
  },
};

/** @returns how often the fail point was hit since it was set last */
async function failCommands(lab: Lab, mode: string, data?: object): Promise<number> {
  const admin = lab.mongoClient.db('admin');
  const answer = await admin.command({ configureFailPoint: 'failCommand', mode, ...(data ? { data } : {}) });
  return Number((answer as { count?: number }).count ?? 0);
}

export const SERVER_FAULTS: Fault[] = [
  killMongo,
  killServer('kafka', 'connections of the product broke'),
  killServer('temporal', 'connections of the product broke'),
  freeze('mongo'),
  freeze('kafka'),
  freeze('temporal'),
  refuseWrites,
];
