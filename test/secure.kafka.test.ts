/** TLS, passwords, certificates and rights of Kafka, on a real one with made-up certificates. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type AclEntry, AclOperationTypes as Op, AclPermissionTypes, AclResourceTypes as On } from 'kafkajs';
import { ResourcePatternTypes as Pattern } from 'kafkajs';
import { readLetters, type Letter } from '../bridge/deadLetterRead';
import { openSender } from '../bridge/deadLetterSend';
import { openAdmin, openKafka } from '../bridge/kafka';
import { checkTopics, setupTopics } from '../bridge/setup';
import { readConfig } from '../config';
import { kafkaSettings, topicPlan } from '../connections';
import { createLogger } from '../log';
import { makeCertificates, type Certificates } from './certificates';
import { KAFKA_USER, startSecuredKafka, type SecuredKafka } from './securedKafka';
import { createSystem, type System } from './system';

jest.setTimeout(400_000);
const folder = mkdtempSync(path.join(tmpdir(), 'inventory-sasl-'));
let certificates: Certificates;
let kafka: SecuredKafka;
let system: System;

beforeAll(async () => {
  certificates = makeCertificates(folder);
  kafka = await startSecuredKafka(folder, certificates);
  system = await createSystem(1, { KAFKA_BROKERS: kafka.unguarded });
});
afterAll(async () => {
  await system.close();
  await kafka.stop();
  rmSync(folder, { recursive: true });
});

type Env = Record<string, string>;
const withPassword = (mechanism: string): Env => ({
  KAFKA_BROKERS: kafka.passwords,
  KAFKA_SSL: 'true',
  KAFKA_SSL_CA_FILE: certificates.ca,
  KAFKA_SASL_MECHANISM: mechanism,
  KAFKA_SASL_USERNAME: KAFKA_USER.username,
  KAFKA_SASL_PASSWORD: KAFKA_USER.password,
});
const withCertificate = (): Env => ({
  KAFKA_BROKERS: kafka.certificates,
  KAFKA_SSL: 'true',
  KAFKA_SSL_CA_FILE: certificates.ca,
  KAFKA_SSL_CERT_FILE: certificates.client.cert,
  KAFKA_SSL_KEY_FILE: certificates.client.key,
});
const open = (env: Env) =>
  openKafka(kafkaSettings(readConfig({ ...system.env, ...env })), createLogger('silent'));

async function allow(principal: string, rights: [On, string, Pattern, Op[]][]): Promise<void> {
  const admin = open({}).admin();
  await admin.connect();
  const acl = rights.flatMap(([resourceType, resourceName, resourcePatternType, operations]) =>
    operations.map((operation): AclEntry => {
      const to = { principal, host: '*', operation, permissionType: AclPermissionTypes.ALLOW };
      return { resourceType, resourceName, resourcePatternType, ...to };
    }),
  );
  await admin.createAcls({ acl });
  await admin.disconnect();
}

test.each([
  ['plain', () => withPassword('plain')],
  ['scram-sha-256', () => withPassword('scram-sha-256')],
  ['scram-sha-512', () => withPassword('scram-sha-512')],
  ['a certificate', withCertificate],
])('Kafka lets us in by %s, over TLS', async (_, env) => {
  const admin = await openAdmin(open(env()));
  // Known to Kafka, and not yet allowed to see any topic.
  expect(await admin.topics()).toEqual([]);
  await admin.close();
});

test('what keeps us out is said with the variable', async () => {
  // Whether the reason is heard before the connection is closed is a matter of luck; both answers name this one.
  const certificate = /KAFKA_SSL_CERT_FILE/;
  const ca = /authority that this machine does not know: name its CA in KAFKA_SSL_CA_FILE/;
  const password = /does not take user and password: check KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and/;
  const without = { KAFKA_SSL_CERT_FILE: '', KAFKA_SSL_KEY_FILE: '' };
  const wrong: [Env, RegExp][] = [
    ...['plain', 'scram-sha-256', 'scram-sha-512'].map((mechanism): [Env, RegExp] => [
      { ...withPassword(mechanism), KAFKA_SASL_PASSWORD: 'other' },
      password,
    ]),
    [{ ...withPassword('plain'), KAFKA_SSL_CA_FILE: certificates.strangersCa }, ca],
    [{ ...withPassword('plain'), KAFKA_SSL_CA_FILE: '' }, ca],
    [{ ...withCertificate(), ...without }, certificate],
    [
      { ...withCertificate(), KAFKA_BROKERS: kafka.unguarded },
      /does not speak TLS there: check KAFKA_BROKERS/,
    ],
    [
      { ...withPassword('plain'), KAFKA_SSL: '', KAFKA_SSL_CA_FILE: '' },
      /closes the connection: does it ask for TLS \(KAFKA_SSL\)/,
    ],
  ];
  // Side by side, because the client tries a connection again for some seconds.
  await Promise.all(
    wrong.map(([env, says]) =>
      expect(checkTopics(open(env), topicPlan(system.config))).rejects.toThrow(says),
    ),
  );
});

test('the bridge ends at once with 2 and one line, in which no password stands', async () => {
  const ended = await new Promise<{ code: unknown; err: string }>((resolve) => {
    const env = { ...system.env, ...withPassword('scram-sha-512'), KAFKA_SASL_PASSWORD: 'a-wrong-secret' };
    const program = [path.join(__dirname, '..', 'dist', 'cli.js'), 'bridge'];
    execFile(process.execPath, program, { env }, (error, _out, err) => resolve({ code: error?.code, err }));
  });
  expect(ended.code).toBe(2);
  expect(ended.err).toMatch(/^inventory: Kafka does not take user and password: check KAFKA_SASL_MECHANISM/m);
  expect(ended.err).not.toContain('a-wrong-secret');
});

test('with the rights that SECURITY.md lists, and no others, the bridge reads, commits and writes dead letters', async () => {
  const { name } = system;
  await allow(`User:${KAFKA_USER.username}`, [
    ...topicPlan(system.config).topics.map((topic): [On, string, Pattern, Op[]] => [
      On.TOPIC,
      topic,
      Pattern.LITERAL,
      [Op.READ, Op.DESCRIBE],
    ]),
    [On.TOPIC, `${name}.dead-letters`, Pattern.LITERAL, [Op.WRITE, Op.DESCRIBE]],
    [On.GROUP, name, Pattern.LITERAL, [Op.READ]],
  ]);
  await system.database.stock('A', '10');
  const run = await system.start('run', withPassword('scram-sha-512'));
  const paid = {
    saleOrderId: `SO-${name}`,
    paidAt: '2026-11-01T12:00:00Z',
    lines: [{ stockId: 'A', quantity: '3' }],
  };
  await system.publish('PAYMENT_SUCCESS', [paid, { ...paid, lines: 'none' }]);
  await system.settled();
  expect(await system.database.onHand('A')).toBe('7');
  const admin = await openAdmin(open({}));
  expect(await admin.watermarks(`${name}.dead-letters`)).toMatchObject([{ low: 0n, high: 1n }]);
  expect(await run.kill('SIGTERM')).toBe(0);

  await admin.close();

  // Not even the same user may do more than that.
  const limited = open(withPassword('scram-sha-512'));
  const plan = { topics: [`${name}.made`], deadLetterTopic: `${name}.made.dead-letters` };
  await expect(setupTopics(limited, plan)).rejects.toThrow(
    /does not give us a right that is needed: SECURITY.md/,
  );
  await allow(`User:${KAFKA_USER.username}`, [
    [On.TOPIC, `${name}.made`, Pattern.PREFIXED, [Op.CREATE, Op.DESCRIBE]],
  ]);
  expect(await setupTopics(limited, plan)).toEqual([plan.topics[0], plan.deadLetterTopic]);
});

test('with the rights of an operator, who comes by certificate, dead letters are read and sent back', async () => {
  const { name } = system;
  const topic = `${name}.PAYMENT_SUCCESS`;
  await allow('User:CN=inventory', [
    [On.TOPIC, topic, Pattern.LITERAL, [Op.READ, Op.DESCRIBE, Op.WRITE]],
    [On.TOPIC, `${name}.dead-letters`, Pattern.LITERAL, [Op.READ, Op.DESCRIBE]],
    [On.GROUP, 'inventory-replay-', Pattern.PREFIXED, [Op.READ, Op.DELETE]],
    [On.GROUP, name, Pattern.LITERAL, [Op.DESCRIBE]],
  ]);
  const operator = open(withCertificate());
  const letters: Letter[] = [];
  await readLetters(operator, `${name}.dead-letters`, {}, (read) =>
    Promise.resolve(void letters.push(...read)),
  );
  expect(letters).toHaveLength(1);
  const sender = await openSender(operator);
  expect(await sender.send(letters[0]!)).toEqual({ topic, partition: 0, offset: '2' });
  await sender.close();
  const admin = await openAdmin(operator);
  expect(await admin.committed(name, topic)).toEqual(new Map([[0, 2n]]));
  await admin.close();
});
