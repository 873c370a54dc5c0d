/** Real servers of this file alone: killed, frozen, restarted and stopped. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { Kafka, logLevel } from 'kafkajs';
import { mongo as driver } from 'mongoose';

import { createTopics } from '../bridge/setup';
import { readRunning } from '../stack/running';
import type { Stack } from '../stack/stack';
import { startStack } from '../stack/stack';

const STACK = JSON.stringify(join(dirname(__dirname), 'dist', 'stack', 'stack.js'));
let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(os.tmpdir(), 'inventory-stack-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

/** Puts something into each server, or finds it there. */
async function withEach(env: Stack['env'], action: 'put' | 'find'): Promise<unknown[]> {
  const mongo = new driver.MongoClient(env.MONGO_URL, { runtimeAdapters: { os } });
  const admin = new Kafka({ brokers: [env.KAFKA_BROKERS], logLevel: logLevel.NOTHING }).admin();
  const connection = await Connection.connect({ address: env.TEMPORAL_ADDRESS });
  const { workflow } = new Client({ connection });
  try {
    await admin.connect();
    const kept = mongo.db().collection<{ _id: string }>('kept');
    if (action === 'put') {
      await kept.insertOne({ _id: 'document' }, { writeConcern: { w: 'majority', journal: true } });
      await createTopics(admin, [{ topic: 'kept' }]);
      await workflow.start('nobody', { taskQueue: 'nobody', workflowId: 'kept' });
    }
    const description = await workflow.getHandle('kept').describe();
    return [await kept.findOne(), await admin.listTopics(), description.status.name];
  } finally {
    await Promise.all([mongo.close(), admin.disconnect(), connection.close()]);
  }
}

test('each server comes back after kill -9 on its port and with its data, and stop() stops all', async () => {
  const stack = await startStack({ dataDir, ports: 'free' });
  const put = await withEach(stack.env, 'put');
  const servers = Object.values(stack.servers);
  const before = servers.map((server) => server.pid ?? 0);

  await Promise.all(servers.map((server) => server.kill('SIGKILL')));
  expect(before.map(isGone)).toEqual([true, true, true]);
  await Promise.all(servers.map((server) => server.restart()));
  expect(await withEach(stack.env, 'find')).toEqual(put);

  // A frozen process must not keep anybody from stopping.
  await stack.servers.mongo.kill('SIGSTOP');
  const after = servers.map((server) => server.pid ?? 0);
  expect(
    readRunning(dataDir)
      ?.processes.map(({ pid }) => pid)
      .sort(),
  ).toEqual([...after].sort());
  await stack.stop();
  expect(after.map(isGone)).toEqual([true, true, true]);
  expect(readRunning(dataDir)).toBeUndefined();

  // Other ports this time: the replica set must follow.
  const again = await startStack({ dataDir, ports: 'free', servers: ['mongo'] });
  expect(again.env.MONGO_URL).not.toBe(stack.env.MONGO_URL);
  const mongo = new driver.MongoClient(again.env.MONGO_URL, { runtimeAdapters: { os } });
  expect(await mongo.db().collection<{ _id: string }>('kept').findOne()).toEqual({ _id: 'document' });
  await mongo.close();
  await expect(startStack({ dataDir, ports: 'free', servers: ['mongo'] })).rejects.toThrow(
    'A stack already runs',
  );
  await again.stop();
}, 120_000);

test('a server that dies early is reported with the last lines of its log, and nothing stays behind', async () => {
  mkdirSync(join(dataDir, 'mongo'));
  writeFileSync(join(dataDir, 'mongo', 'WiredTiger'), 'not a database');
  writeFileSync(join(dataDir, 'mongo', 'storage.bson'), 'nor this');
  const start = startStack({ dataDir, ports: 'free', servers: ['mongo', 'temporal'] });
  await expect(start).rejects.toThrow(
    /^mongo ended by itself \((SIG|exit code).*\. The end of .*logs\/mongo\.log:\n.*storage engine metadata/s,
  );
  expect(readRunning(dataDir)).toBeUndefined();
});

test('a server that ends later is told to whoever wants to know', async () => {
  let told = (_message: string) => {};
  const death = new Promise<string>((resolve) => (told = resolve));
  const onDeath = (error: Error) => told(error.message);
  const stack = await startStack({ dataDir, ports: 'free', servers: ['temporal'], onDeath });
  process.kill(stack.servers.temporal.pid ?? 0, 'SIGKILL');
  expect(await death).toMatch(/^temporal ended by itself \(SIGKILL\)/);
  await stack.stop();
});

test('servers end with the program that started them, even if that is killed', async () => {
  const script = `require(${STACK}).startStack({ dataDir: ${JSON.stringify(dataDir)}, ports: 'free', servers: ['temporal'] })
    .then((stack) => { console.log(stack.servers.temporal.pid); setInterval(() => {}, 1000); })`;
  const starter = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(starter.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  expect(isGone(pid)).toBe(false);
  starter.kill('SIGKILL');
  for (let waited = 0; !isGone(pid) && waited < 10_000; waited += 50) await sleep(50);
  expect(isGone(pid)).toBe(true);
});
