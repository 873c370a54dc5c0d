/** Kafka as one process: broker and controller (KRaft), without authentication, on this machine only. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Kafka, logLevel } from 'kafkajs';

import { run } from './run';
import type { Launch } from './server';
import { until } from './server';

export interface KafkaOptions {
  /** The folder of Kafka's jars. */
  lib: string;
  java: string;
  dir: string;
  logFile: string;
  port: number;
  controllerPort: number;
  /** Further lines of its configuration; they win. */
  properties?: string;
  /** Users with passwords, as the storage tool takes them. */
  scram?: string[];
}

/** Writes the configuration, formats the data folder unless it is already, and tells how to start. */
export async function kafka(options: KafkaOptions): Promise<Launch> {
  const { lib, java, dir, logFile, port } = options;
  mkdirSync(dir, { recursive: true });
  const properties = join(dir, 'server.properties');
  writeFileSync(properties, serverProperties(options));
  const log4j = join(dir, 'log4j2.properties');
  writeFileSync(log4j, LOG4J);
  // Light on start: on two cores, the optimizing compiler would take most of the first half minute.
  const jvm = [
    '-XX:TieredStopAtLevel=1',
    `-Dlog4j2.configurationFile=${log4j}`,
    '-XX:+UseSerialGC',
    '-cp',
    join(lib, '*'),
  ];
  if (!existsSync(join(dir, 'data', 'meta.properties'))) {
    const format = ['format', '--cluster-id', clusterId(), '--config', properties, '--ignore-formatted'];
    for (const user of options.scram ?? []) format.push('--add-scram', user);
    await run(java, [...jvm, 'kafka.tools.StorageTool', ...format], {
      env: process.env,
      failure: (lines) => `Kafka could not format ${join(dir, 'data')}: ${lines}`,
    });
  }
  const args = ['-Xms128m', '-Xmx512m', ...jvm, 'kafka.Kafka', properties];
  return { name: 'kafka', logFile, program: java, args, ready: (signal) => ready(port, signal) };
}

/** Ready is: topics can be made and consumer groups can be coordinated. */
async function ready(port: number, signal: AbortSignal): Promise<void> {
  const admin = new Kafka({
    clientId: 'stack',
    brokers: [`127.0.0.1:${port}`],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 2_000,
    requestTimeout: 5_000,
    retry: { retries: 0 },
  }).admin();
  try {
    await until(async () => {
      await admin.connect();
      if ((await admin.describeCluster()).brokers.length === 0) return false;
      // Asking for a group makes the broker create the topic of the offsets, and fails until it is loaded.
      await admin.fetchOffsets({ groupId: 'stack' });
      return true;
    }, signal);
  } finally {
    await admin.disconnect().catch(() => {});
  }
}

/** 16 random bytes as Kafka writes them; the first one small, so that it does not look like an option. */
function clusterId(): string {
  const bytes = randomBytes(16);
  bytes[0] = 1;
  return bytes.toString('base64url');
}

function serverProperties({ dir, port, controllerPort, properties = '' }: KafkaOptions): string {
  return `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controllerPort}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}
advertised.listeners=PLAINTEXT://127.0.0.1:${port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=${join(dir, 'data')}
# One node holds every copy there is.
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
# One partition each: once a single group is coordinated, all are.
offsets.topic.num.partitions=1
transaction.state.log.num.partitions=1
# A misspelt topic is an error, not a new topic.
auto.create.topics.enable=false
# Tests start many groups: nobody waits for members that don't come, and a dead one is noticed soon.
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
num.network.threads=2
num.io.threads=2
${properties}`;
}

const LOG4J = `status=error
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d{ISO8601} %p %m (%c)%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
`;
