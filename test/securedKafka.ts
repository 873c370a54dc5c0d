/** A Kafka with everything that a guarded one asks for: TLS, passwords, certificates of clients, and rights. */
import { join } from 'node:path';
import { findBinary } from '../stack/binaries';
import { startGuard } from '../stack/guard';
import { kafka } from '../stack/kafka';
import { freePorts } from '../stack/ports';
import { Server } from '../stack/server';
import { java } from '../stack/tools';
import type { Certificates } from './certificates';

export interface SecuredKafka {
  /** Asks for user and password, over TLS. */
  passwords: string;
  /** Asks for a certificate. */
  certificates: string;
  /** Lets everybody in as everything: for preparing tests. */
  unguarded: string;
  stop(): Promise<void>;
}

export const KAFKA_USER = { username: 'inventory', password: 'made-up' } as const;

export async function startSecuredKafka(folder: string, certificates: Certificates): Promise<SecuredKafka> {
  const ports = await freePorts();
  const guard = startGuard();
  const at = (port: number) => `127.0.0.1:${port}`;
  const [passwords, mutual] = [at(ports.temporal), at(ports.temporalUi)];
  const listeners = [
    `INTERNAL://${at(ports.kafka)}`,
    `PASSWORDS://${passwords}`,
    `MUTUAL://${mutual}`,
  ].join();
  const login = (kind: string, more = '') =>
    `org.apache.kafka.common.security.${kind}LoginModule required${more};`;
  const launch = await kafka({
    lib: (await findBinary('kafka')).path,
    java: await java(process.env),
    dir: join(folder, 'kafka'),
    logFile: join(folder, 'kafka.log'),
    port: ports.kafka,
    controllerPort: ports.kafkaController,
    scram: [256, 512].map(
      (bits) => `SCRAM-SHA-${bits}=[name=${KAFKA_USER.username},password=${KAFKA_USER.password}]`,
    ),
    properties: `listeners=${listeners},CONTROLLER://${at(ports.kafkaController)}
advertised.listeners=${listeners}
listener.security.protocol.map=INTERNAL:PLAINTEXT,PASSWORDS:SASL_SSL,MUTUAL:SSL,CONTROLLER:PLAINTEXT
inter.broker.listener.name=INTERNAL
ssl.keystore.type=PEM
ssl.keystore.location=${certificates.server.both}
ssl.truststore.type=PEM
ssl.truststore.location=${certificates.ca}
listener.name.mutual.ssl.client.auth=required
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.passwords.plain.sasl.jaas.config=${login('plain.Plain', ` user_${KAFKA_USER.username}="${KAFKA_USER.password}"`)}
listener.name.passwords.scram-sha-256.sasl.jaas.config=${login('scram.Scram')}
listener.name.passwords.scram-sha-512.sasl.jaas.config=${login('scram.Scram')}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
`,
  });
  const server: Server = new Server(
    launch,
    () => guard.watch(server?.pid ? [server.pid] : []),
    () => undefined,
  );
  await server.start();
  return {
    passwords,
    certificates: mutual,
    unguarded: at(ports.kafka),
    stop: async () => {
      await server.stop(0);
      guard.dismiss();
    },
  };
}
