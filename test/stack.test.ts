/** How programs are found and fetched, and what is said when something is missing. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';

import { SEARCH_ATTRIBUTES } from '../commands';
import { cacheDir, findBinary } from '../stack/binaries';
import { fetchInto } from '../stack/cache';
import { checkFree, freePorts } from '../stack/ports';
import type { Running } from '../stack/running';
import { forgetRunning, noteRunning, readRunning, stopRunning, usableEnv } from '../stack/running';
import { tally } from './run';

const REPOSITORY = dirname(__dirname);
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'inventory-stack-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function program(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '#!/bin/sh\n');
  chmodSync(path, 0o755);
  return path;
}

describe('a program is found', () => {
  test('by its variable, then on PATH, then in the cache', async () => {
    const env: NodeJS.ProcessEnv = { XDG_CACHE_HOME: folder, PATH: '' };
    const cached = program(join(cacheDir(env), 'mongod-0.4.0', 'mongod'));
    expect(await findBinary('mongod', { env })).toEqual({ path: cached, from: 'cache' });

    env['PATH'] = join(folder, 'bin');
    const onPath = program(join(folder, 'bin', 'mongod'));
    expect(await findBinary('mongod', { env })).toEqual({ path: onPath, from: 'PATH' });

    env['MONGOD'] = program(join(folder, 'mine'));
    expect(await findBinary('mongod', { env })).toEqual({ path: env['MONGOD'], from: 'variable' });
  });

  test('for Kafka as the folder of its jars, beside its scripts on PATH', async () => {
    const script = program(join(folder, 'kafka', 'bin', 'kafka-server-start.sh'));
    const libs = dirname(program(join(folder, 'kafka', 'libs', 'kafka_2.13-4.4.0.jar')));
    const env = { XDG_CACHE_HOME: folder, PATH: dirname(script) };
    expect(await findBinary('kafka', { env })).toEqual({ path: libs, from: 'PATH' });
  });

  test('a variable that names nothing is an error, not a reason to look elsewhere', async () => {
    const env = { MONGOD: join(folder, 'nothing'), KAFKA_LIB: folder };
    await expect(findBinary('mongod', { env })).rejects.toThrow(
      /^MONGOD=.*nothing is not a program: .*docker compose up/,
    );
    await expect(findBinary('kafka', { env })).rejects.toThrow(
      /^KAFKA_LIB=.* is not a folder that holds kafka_2\.13/,
    );
  });

  test('what is missing for fetching is said with its remedy', async () => {
    const env: NodeJS.ProcessEnv = { XDG_CACHE_HOME: folder, PATH: join(folder, 'bin') };
    await expect(findBinary('temporal', { env })).rejects.toThrow(
      /install python3 and python3-pip.*docker compose up/,
    );
    await expect(findBinary('kafka', { env })).rejects.toThrow(
      /needs Java 17 or newer.*install.*docker compose up/,
    );
    writeFileSync(program(join(folder, 'bin', 'java')), '#!/bin/sh\necho \'openjdk version "11.0.2"\' >&2\n');
    await expect(findBinary('kafka', { env })).rejects.toThrow(/java is version 11: install/);
    writeFileSync(join(folder, 'bin', 'java'), '#!/bin/sh\necho \'openjdk version "21.0.1"\' >&2\n');
    await expect(findBinary('kafka', { env })).rejects.toThrow(/install maven.*docker compose up/);
    expect(readdirSync(cacheDir(env))).toEqual([]);
  });
});

describe('the cache', () => {
  test('never holds a half fetch, even of a process that was killed', async () => {
    const place = join(folder, 'thing-1');
    const killed = spawnSync(process.execPath, [
      '-e',
      `require(${JSON.stringify(join(REPOSITORY, 'dist', 'stack', 'cache.js'))}).fetchInto(${JSON.stringify(place)}, async (into) => {
        require('node:fs').writeFileSync(into + '/thing', 'half');
        process.kill(process.pid, 'SIGKILL');
      })`,
    ]);
    expect(killed.signal).toBe('SIGKILL');
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/^\.half-thing-1-/)]);

    await expect(fetchInto(place, () => Promise.reject(new Error('cut')))).rejects.toThrow('cut');
    expect(existsSync(place)).toBe(false);

    await fetchInto(place, (into) => writeFile(join(into, 'thing'), 'whole'));
    expect(readFileSync(join(place, 'thing'), 'utf8')).toBe('whole');
  });

  test('holds the first of two fetches at once, and the second uses it', async () => {
    const place = join(folder, 'thing-1');
    let firstIsDone = () => {};
    const first = new Promise<void>((resolve) => (firstIsDone = resolve));
    const slow = fetchInto(place, async (into) => {
      await first;
      writeFileSync(join(into, 'thing'), 'second');
    });
    await fetchInto(place, (into) => writeFile(join(into, 'thing'), 'first'));
    firstIsDone();
    await slow;
    expect(readFileSync(join(place, 'thing'), 'utf8')).toBe('first');
    expect(readdirSync(folder)).toEqual(['thing-1']);
  });
});

test('a taken port is named with its remedy, and free ports are free and below the outgoing ones', async () => {
  const ports = Object.values<number>({ ...(await freePorts()) });
  expect(new Set(ports).size).toBe(5);
  expect(Math.max(...ports)).toBeLessThan(32_768);
  await checkFree(ports);
  const other = createServer().listen(ports[0], '127.0.0.1');
  await expect(checkFree(ports)).rejects.toThrow(new RegExp(`^Port ${ports[0]} is taken .*--free-ports`));
  other.close();
});

test('a process that only has the ID of a server is left alone', async () => {
  noteRunning(folder, {}, [{ name: 'mongo', pid: process.pid }]);
  expect(readRunning(folder)).toMatchObject({ processes: [{ name: 'mongo' }], dead: [] });
  const file = join(folder, 'stack.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/"started": ".*"/, '"started": "1"'));
  expect(readRunning(folder)).toBeUndefined();
  expect(await stopRunning(folder)).toBe(0);
  forgetRunning(folder);
});

test('a stack of which only some servers still run is not used', () => {
  const ended = spawnSync('true').pid;
  const file = join(folder, 'stack.json');
  noteRunning(folder, {}, [{ name: 'mongo', pid: process.pid }]);
  const noted = JSON.parse(readFileSync(file, 'utf8')) as Running;
  noted.processes.push({ name: 'kafka', pid: ended, started: '1' });
  writeFileSync(file, JSON.stringify(noted));
  expect(() => usableEnv(folder)).toThrow(/kafka ended by itself .* npm run stack:stop/);
});

test('docker-compose.yml starts every server and registers every search attribute', () => {
  const text = readFileSync(join(REPOSITORY, 'docker-compose.yml'), 'utf8');
  const all = parse(text, { merge: true }) as {
    services: Record<string, { image: string; ports?: string[]; profiles?: string[] }>;
  };
  const services = Object.fromEntries(Object.entries(all.services).filter(([, { profiles }]) => !profiles));
  expect(Object.keys(services)).toEqual(
    expect.arrayContaining(['kafka', 'mongo', 'temporal', 'temporal-ui']),
  );
  const ports = Object.values(services).flatMap((service) => service.ports ?? []);
  expect(ports.map((port) => port.split(':').slice(0, 2).join(':')).sort()).toEqual(
    ['127.0.0.1:27017', '127.0.0.1:7233', '127.0.0.1:8233', '127.0.0.1:9092'].sort(),
  );
  for (const { image } of Object.values(services)) expect(image).toMatch(/:\d+\.\d+(\.\d+)?$/);
  for (const name of Object.values(SEARCH_ATTRIBUTES)) expect(text).toContain(`--name ${name} `);
});

test('the last line counts what passed and failed, and a run that tells nothing as failed', () => {
  expect(tally('{"numPassedTests":3,"numFailedTests":1,"numRuntimeErrorTestSuites":2}')).toEqual({
    passed: 3,
    failed: 3,
  });
  expect(tally(undefined)).toEqual({ passed: 0, failed: 1 });
});
