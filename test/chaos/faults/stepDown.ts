/** A change of primary: the set gets two more members for the time of this fault. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { mongo } from 'mongoose';
import { findBinary } from '../../../stack/binaries';
import { startGuard } from '../../../stack/guard';
import { anyPort, WORKERS, type Lab } from '../lab';
import { atLeast, type Fault } from './fault';

const STEPPED_DOWN_S = 20;
const READY_MS = 90_000;

interface SetConfig {
  version: number;
  members: { _id: number; host: string; priority?: number }[];
}

interface Hello {
  me: string;
  primary?: string;
  isWritablePrimary: boolean;
}

export const stepDown: Fault = {
  name: 'step-down',
  does: `the primary of a set of three steps down for ${STEPPED_DOWN_S} s, with transactions open`,
  inject: async (lab) => {
    const admin = lab.mongoClient.db('admin');
    const hello = async () => (await admin.command({ hello: 1 })) as unknown as Hello;
    const { me } = await hello();
    const more = await addMembers(lab);
    await restartWorkers(lab, {
      MONGO_URL: `mongodb://${[me, ...more.hosts].join(',')}/inventory?replicaSet=rs0`,
    });
    const before = await lab.tracking.countDocuments();
    await admin.command({ replSetStepDown: STEPPED_DOWN_S, secondaryCatchUpPeriodSecs: 10 });
    const elected = await lab.until(
      'another primary',
      async () => {
        const { primary } = await hello();
        return primary !== undefined && primary !== me && primary;
      },
      READY_MS,
    );
    const written = await lab.until(
      'entries written under it',
      async () => (await lab.tracking.countDocuments()) - before || undefined,
      READY_MS,
    );
    return {
      heal: async () => {
        // The first member has the highest priority: it takes over as soon as it may.
        await lab.until(
          'the first member is primary again',
          async () => (await hello()).isWritablePrimary,
          READY_MS,
        );
        await more.remove();
        await restartWorkers(lab, {});
      },
      bitten: () => `primary went from ${me} to ${elected}; ${atLeast(1, written, 'entries written there')}`,
    };
  },
};

async function addMembers(lab: Lab): Promise<{ hosts: string[]; remove(): Promise<void> }> {
  const admin = lab.mongoClient.db('admin');
  const { path } = await findBinary('mongod', { onProgress: lab.settings.say });
  const guard = startGuard();
  const children: ChildProcess[] = [];
  const hosts: string[] = [];
  for (const number of [1, 2]) {
    const dir = join(lab.settings.dir, `mongo-more-${number}-${Date.now()}`);
    mkdirSync(dir);
    const port = await anyPort();
    const args = ['--replSet', 'rs0', '--dbpath', dir, '--bind_ip', '127.0.0.1', '--port', `${port}`];
    const light = ['--nounixsocket', '--wiredTigerCacheSizeGB', '0.25', '--quiet'];
    children.push(spawn(path, [...args, ...light], { stdio: 'ignore' }));
    guard.watch(children.flatMap(({ pid }) => pid ?? []));
    hosts.push(`127.0.0.1:${port}`);
  }
  const reconfigure = async (change: (config: SetConfig) => void) => {
    const { config } = (await admin.command({ replSetGetConfig: 1 })) as unknown as { config: SetConfig };
    change(config);
    config.version++;
    await admin.command({ replSetReconfig: config });
  };
  // One voter at a time: the server refuses more.
  for (const [index, host] of hosts.entries()) {
    const add = (config: SetConfig) => {
      config.members[0]!.priority = 5;
      if (!config.members.some((member) => member.host === host)) {
        config.members.push({ _id: index + 1, host });
      }
    };
    await lab.until(`${host} is a member`, () => reconfigure(add).then(() => true), READY_MS);
  }
  for (const host of hosts) await lab.until(`${host} is a secondary`, () => isSecondary(host), READY_MS);
  return {
    hosts,
    remove: async () => {
      for (const host of [...hosts].reverse()) {
        const drop = (config: SetConfig) => {
          config.members = config.members.filter((member) => member.host !== host);
        };
        await lab.until(`${host} is gone`, () => reconfigure(drop).then(() => true), READY_MS);
      }
      for (const child of children) child.kill('SIGKILL');
      guard.dismiss();
    },
  };
}

async function isSecondary(host: string): Promise<boolean> {
  const client = new mongo.MongoClient(`mongodb://${host}/?directConnection=true`, {
    serverSelectionTimeoutMS: 2_000,
  });
  try {
    return ((await client.db('admin').command({ hello: 1 })) as { secondary?: boolean }).secondary === true;
  } finally {
    await client.close();
  }
}

async function restartWorkers(lab: Lab, env: Record<string, string>): Promise<void> {
  for (const name of WORKERS) {
    await lab.product.kill(name, 'SIGTERM');
    await lab.product.start(name, { env });
  }
}
