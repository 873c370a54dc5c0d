/** MongoDB as a replica set of one member: transactions need a replica set. */
import { mkdirSync } from 'node:fs';
import os from 'node:os';

import { mongo as driver } from 'mongoose';

import type { Launch } from './server';
import { until } from './server';

export interface MongoOptions {
  mongod: string;
  dir: string;
  logFile: string;
  port: number;
}

/** The name of the replica set, as it stands in the address. */
export const REPLICA_SET = 'rs0';

/** Tells how to start; the replica set is made, or brought to this port, while waiting for it to be ready. */
export function mongo({ mongod, dir, logFile, port }: MongoOptions): Launch {
  mkdirSync(dir, { recursive: true });
  const network = ['--bind_ip', '127.0.0.1', '--port', String(port), '--nounixsocket'];
  const light = ['--wiredTigerCacheSizeGB', '1', '--setParameter', 'diagnosticDataCollectionEnabled=false'];
  // What a killed worker left open holds its stocks for a minute otherwise. No transaction of ours takes so long.
  const lifetime = ['--setParameter', 'transactionLifetimeLimitSeconds=15'];
  const args = ['--replSet', REPLICA_SET, '--dbpath', dir, ...network, ...light, ...lifetime, '--quiet'];
  return {
    name: 'mongo',
    logFile,
    program: mongod,
    args,
    ready: (signal) => ready(`127.0.0.1:${port}`, signal),
  };
}

/** Ready is: the one member is the primary, so it takes writes. */
async function ready(host: string, signal: AbortSignal): Promise<void> {
  const client = new driver.MongoClient(`mongodb://${host}/?directConnection=true`, {
    serverSelectionTimeoutMS: 1_000,
    socketTimeoutMS: 5_000,
    // The driver's own way to it, a dynamic import, does not work inside jest.
    runtimeAdapters: { os },
  });
  const admin = client.db('admin');
  let configured = false;
  try {
    await until(async () => {
      // Only an explicit connect starts anew after one that failed.
      await client.connect();
      if (!configured) configured = await configure(admin, host);
      const hello = await admin.command({ hello: 1 });
      return hello['isWritablePrimary'] === true;
    }, signal);
  } finally {
    await client.close();
  }
}

/** Data that was used on another port still names that one: the set is then made to name this one. */
async function configure(
  admin: ReturnType<InstanceType<typeof driver.MongoClient>['db']>,
  host: string,
): Promise<boolean> {
  const members = [{ _id: 0, host }];
  try {
    const { config } = (await admin.command({ replSetGetConfig: 1 })) as { config: ReplicaSetConfig };
    if (config.members[0]?.host === host) return true;
    const moved = { ...config, version: config.version + 1, members: [{ ...config.members[0], host }] };
    await admin.command({ replSetReconfig: moved, force: true });
  } catch (error) {
    if (!(error instanceof driver.MongoServerError) || error.codeName !== 'NotYetInitialized') throw error;
    await admin.command({ replSetInitiate: { _id: REPLICA_SET, members } });
  }
  return true;
}

interface ReplicaSetConfig {
  version: number;
  members: { host: string }[];
}
