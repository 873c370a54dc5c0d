/** TLS, certificates of clients and API keys to Temporal, with made-up certificates, and what is said when one is wrong. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Connection } from '@temporalio/client';
import { readConfig } from '../config';
import { checkTemporal, connectTemporal, TemporalCheckError } from '../temporal';
import { makeCertificates, type Certificates } from './certificates';
import { createSystem, type System } from './system';
import { openDoor, type Door } from './temporalDoor';

jest.setTimeout(240_000);
const folder = mkdtempSync(path.join(tmpdir(), 'inventory-tls-'));
let certificates: Certificates;
let byCertificate: Door;
let byKey: Door;
let system: System;

beforeAll(async () => {
  const behind = process.env['TEMPORAL_ADDRESS']!;
  certificates = makeCertificates(folder);
  byCertificate = await openDoor(certificates, behind, { clientCertificate: true });
  byKey = await openDoor(certificates, behind, { apiKey: 'made-up' });
  system = await createSystem();
});
afterAll(async () => {
  await system.close();
  byCertificate.close();
  byKey.close();
  rmSync(folder, { recursive: true });
});

const withCertificate = (): Record<string, string> => ({
  TEMPORAL_ADDRESS: byCertificate.address,
  TEMPORAL_TLS: 'true',
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: certificates.ca,
  TEMPORAL_TLS_CLIENT_CERT_PATH: certificates.client.cert,
  TEMPORAL_TLS_CLIENT_KEY_PATH: certificates.client.key,
});
const withKey = (): Record<string, string> => ({
  TEMPORAL_ADDRESS: byKey.address,
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: certificates.ca,
  TEMPORAL_API_KEY: 'made-up',
});

test.each([
  ['a certificate', withCertificate, () => byCertificate],
  ['an API key', withKey, () => byKey],
])('an order passes bridge, workflow and worker over TLS with %s', async (_, env, door) => {
  const before = door().passed();
  const stock = `TLS-${before}-${door().address}`;
  await system.database.stock(stock, '10');
  const run = await system.start('run', env());
  await system.publish('PAYMENT_SUCCESS', [
    {
      saleOrderId: `SO-${stock}-${system.name}`,
      paidAt: '2026-11-01T12:00:00Z',
      lines: [{ stockId: stock, quantity: '3' }],
    },
  ]);
  await system.settled();
  expect(await system.database.onHand(stock)).toBe('7');
  expect(await run.kill('SIGTERM')).toBe(0);
  expect(door().passed()).toBeGreaterThan(before);
});

test("the client without the worker's native part takes the same settings", async () => {
  for (const env of [withCertificate(), withKey()]) {
    const connection = await Connection.connect(readConfig(env).temporal.connectionOptions);
    expect(await connection.workflowService.describeNamespace({ namespace: 'default' })).toBeTruthy();
    await connection.close();
  }
});

const wrong: [string, () => Record<string, string>, RegExp][] = [
  [
    'no CA',
    () => ({ ...withCertificate(), TEMPORAL_TLS_SERVER_CA_CERT_PATH: '' }),
    /authority that this machine does not know: name its CA in TEMPORAL_TLS_SERVER_CA_CERT_PATH/,
  ],
  [
    'the CA of somebody else',
    () => ({ ...withKey(), TEMPORAL_TLS_SERVER_CA_CERT_PATH: certificates.strangersCa }),
    /authority that this machine does not know: name its CA in TEMPORAL_TLS_SERVER_CA_CERT_PATH/,
  ],
  [
    'no certificate of the client',
    () => ({ ...withCertificate(), TEMPORAL_TLS_CLIENT_CERT_PATH: '', TEMPORAL_TLS_CLIENT_KEY_PATH: '' }),
    /TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH/,
  ],
  [
    'a wrong key',
    () => ({ ...withKey(), TEMPORAL_API_KEY: 'other' }),
    /does not take the API key: check TEMPORAL_API_KEY/,
  ],
  [
    'another name of the server',
    () => ({ ...withKey(), TEMPORAL_TLS_SERVER_NAME: 'other.example' }),
    /certificate of another name: set TEMPORAL_TLS_SERVER_NAME/,
  ],
  [
    'TLS where there is none',
    () => ({ ...withKey(), TEMPORAL_ADDRESS: process.env['TEMPORAL_ADDRESS']! }),
    /does not speak TLS: check TEMPORAL_ADDRESS/,
  ],
  [
    'no TLS where there is some',
    () => ({ TEMPORAL_ADDRESS: byKey.address }),
    /closes the connection: does it ask for TLS \(TEMPORAL_TLS=true\)/,
  ],
  ['no server', () => ({ TEMPORAL_ADDRESS: '127.0.0.1:1' }), /does not answer; check TEMPORAL_ADDRESS/],
];
test.each(wrong)('%s is said with the variable', async (_, env, says) => {
  const asked = connectTemporal(readConfig(env())).then(checkTemporal);
  await expect(asked).rejects.toThrow(TemporalCheckError);
  await expect(asked).rejects.toThrow(says);
});

test('the program ends with 2 and one line, in which no secret stands', async () => {
  const ended = await new Promise<{ code: unknown; err: string }>((resolve) => {
    const env = { ...system.env, ...withKey(), TEMPORAL_API_KEY: 'a-wrong-secret' };
    execFile(
      process.execPath,
      [path.join(__dirname, '..', 'dist', 'cli.js'), 'parked'],
      { env },
      (error, _out, err) => resolve({ code: error?.code, err }),
    );
  });
  expect(ended).toEqual({
    code: 2,
    err: `inventory: Temporal at ${byKey.address} does not take the API key: check TEMPORAL_API_KEY\n`,
  });
});
