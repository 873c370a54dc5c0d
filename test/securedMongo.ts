/** A MongoDB that asks for TLS and for a user, as a replica set of one. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { mongo } from 'mongoose';
import { findBinary } from '../stack/binaries';
import { startGuard } from '../stack/guard';
import { REPLICA_SET } from '../stack/mongo';
import { freePorts } from '../stack/ports';
import { Server, until } from '../stack/server';
import type { Certificates } from './certificates';

export interface SecuredMongo {
  /** As the one user who may do everything. */
  root: mongo.MongoClient;
  /** A URL for somebody else. */
  url(database: string, user: string, password: string, caFile?: string): string;
  stop(): Promise<void>;
}

const ROOT = { user: 'root', pwd: 'made-up' };

export async function startSecuredMongo(folder: string, certificates: Certificates): Promise<SecuredMongo> {
  const { mongo: port } = await freePorts();
  const dir = join(folder, 'mongo');
  mkdirSync(dir);
  const keyFile = join(folder, 'members.key');
  writeFileSync(keyFile, randomBytes(48).toString('base64'), { mode: 0o400 });
  const tls = ['--tlsMode', 'requireTLS', '--tlsCertificateKeyFile', certificates.server.both];
  const url = (database: string, user?: string, password?: string, caFile = certificates.ca) =>
    `mongodb://${user ? `${user}:${password}@` : ''}127.0.0.1:${port}/${database}` +
    `?replicaSet=${REPLICA_SET}&authSource=admin&tls=true&tlsCAFile=${encodeURIComponent(caFile)}`;
  const client = (address: string) =>
    new mongo.MongoClient(address, {
      serverSelectionTimeoutMS: 2_000,
      // The driver's own way to it, a dynamic import, does not work inside jest.
      runtimeAdapters: { os },
    });
  const guard = startGuard();
  const server: Server = new Server(
    {
      name: 'mongo',
      logFile: join(folder, 'mongo.log'),
      program: (await findBinary('mongod')).path,
      args: [
        ...['--replSet', REPLICA_SET, '--dbpath', dir, '--bind_ip', '127.0.0.1', '--port', String(port)],
        ...['--keyFile', keyFile, ...tls, '--tlsCAFile', certificates.ca],
        ...['--tlsAllowConnectionsWithoutCertificates', '--nounixsocket', '--quiet'],
        ...['--wiredTigerCacheSizeGB', '0.25', '--setParameter', 'diagnosticDataCollectionEnabled=false'],
      ],
      ready: (signal) =>
        prepare(
          client(url('admin').replace(`replicaSet=${REPLICA_SET}`, 'directConnection=true')),
          port,
          signal,
        ),
    },
    () => guard.watch(server?.pid ? [server.pid] : []),
    () => undefined,
  );
  await server.start();
  const root = client(url('admin', ROOT.user, ROOT.pwd));
  return {
    root,
    url,
    stop: async () => {
      await root.close();
      await server.stop(0);
      guard.dismiss();
    },
  };
}

/** While there is no user, whoever comes from this machine may begin the set and create the first one. */
async function prepare(client: mongo.MongoClient, port: number, signal: AbortSignal): Promise<void> {
  const admin = client.db('admin');
  const members = [{ _id: 0, host: `127.0.0.1:${port}` }];
  try {
    await until(async () => {
      await client.connect();
      await admin.command({ replSetInitiate: { _id: REPLICA_SET, members } });
      return true;
    }, signal);
    await until(async () => (await admin.command({ hello: 1 }))['isWritablePrimary'] === true, signal);
    await admin.command({ createUser: ROOT.user, pwd: ROOT.pwd, roles: ['root'] });
  } finally {
    await client.close();
  }
}
