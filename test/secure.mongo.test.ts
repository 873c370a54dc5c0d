/** MongoDB with TLS and rights: each user may do what its verbs need, and nothing that would change the past. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { mongo } from 'mongoose';
import { archive } from '../activities/archive';
import { claim, noteSent, readStates } from '../activities/deadLetterStates';
import { ensureCatalogueBatch } from '../activities/ensureCatalogueBatch';
import { connectDatabase, type Database } from '../activities/models';
import { checkDatabase, setupDatabase } from '../activities/setup';
import { describeConfig, readConfig } from '../config';
import { makeCertificates, type Certificates } from './certificates';
import { order } from './commandsFor';
import { createDesk, type Desk } from './desk';
import { startSecuredMongo, type SecuredMongo } from './securedMongo';

jest.setTimeout(240_000);
const ROLES = path.join(__dirname, '..', 'security', 'mongodb-roles.json');
const folder = mkdtempSync(path.join(tmpdir(), 'inventory-rights-'));
let certificates: Certificates;
let server: SecuredMongo;
const open: Record<string, Database> = {};
let desk: Desk;

const url = (user: string, password = 'made-up', caFile?: string) =>
  server.url('inventory', user, password, caFile).replace('authSource=admin', 'authSource=inventory');

beforeAll(async () => {
  certificates = makeCertificates(folder);
  server = await startSecuredMongo(folder, certificates);
  const database = server.root.db('inventory');
  for (const role of JSON.parse(readFileSync(ROLES, 'utf8')) as mongo.Document[]) {
    await database.command(role);
    const name = role['createRole'] as string;
    await database.command({ createUser: name, pwd: 'made-up', roles: [name] });
  }
  for (const role of ['inventorySetup', 'inventoryRun', 'inventoryOperate', 'inventoryArchive'])
    open[role] = await connectDatabase(url(role));
  await setupDatabase(open['inventorySetup']!);
  for (const id of ['A', 'B'])
    await database.collection<{ _id: string }>('inventory_stock').insertOne({
      _id: id,
      onHand: mongo.Decimal128.fromString('100'),
    } as never);
  desk = createDesk(open['inventoryRun']!, ['MATERIAL_TRANSFER']);
});
afterAll(async () => {
  for (const database of Object.values(open)) await database.connection.close();
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** Runs `inventory <args>` as a user. */
const cli = (user: string, ...args: string[]) =>
  new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
    const env = { ...process.env, MONGO_URL: url(user) };
    const program = [path.join(__dirname, '..', 'dist', 'cli.js'), ...args];
    execFile(process.execPath, program, { env }, (error, out, err) =>
      resolve({ code: error?.code ?? 0, out, err }),
    );
  });

test('inventoryRun: indexes are checked; single, redelivered, grouped, parked, decided and catalogue commands work', async () => {
  const database = open['inventoryRun']!;
  expect(await checkDatabase(database)).toContain('indexes built');
  expect(await desk.deliver(order('S-1', { A: '-2' }))).toMatchObject({ outcome: 'APPLIED' });
  expect(await desk.deliver(order('S-1', { A: '-2' }))).toMatchObject({ outcome: 'DUPLICATE' });
  const group = Array.from({ length: 20 }, (_, i) => desk.posting(order(`G-${i}`, { A: '-1', B: '1' })));
  const posted = await desk.post(group, new AbortController().signal);
  expect(posted).toMatchObject(group.map(() => ({ value: { outcome: 'APPLIED' } })));

  const edited = order('S-1', { A: '-3' });
  expect(await desk.park(edited)).toMatchObject({ outcome: 'PARKED', case: 'CONFLICT' });
  expect(await desk.decide(edited, 'correct', { asOf: 1 })).toMatchObject({ outcome: 'APPLIED' });
  const short = order('T-1', { A: '-500', B: '500' }, { referenceType: 'MATERIAL_TRANSFER' });
  expect(await desk.park(short)).toMatchObject({ outcome: 'PARKED', case: 'REFUSED' });
  expect(await desk.decide(short, 'discard')).toMatchObject({ outcome: 'REFUSED' });

  const source = { topic: 'cdc.Merchant', partition: 0, offset: '0' };
  const catalogue = [
    { type: 'ensureDefaultLocation', input: { schema: 1, merchantId: 'cafe', source } },
    { type: 'ensureInventoryItem', input: { schema: 1, variantId: 'espresso', merchantId: 'cafe', source } },
  ] as const;
  const created = await ensureCatalogueBatch(database, [...catalogue]);
  expect(JSON.stringify(created)).toContain('APPLIED');
});

const forbidden: [string, (database: Database) => Promise<unknown>][] = [
  ['change an entry', ({ tracking }) => tracking.updateOne({}, { $set: { actor: 'nobody' } })],
  ['delete an entry', ({ tracking }) => tracking.deleteOne({})],
  ['replace an entry', ({ tracking }) => tracking.findOneAndDelete({})],
  ['delete a stock', ({ stocks }) => stocks.deleteOne({})],
  ['drop the ledger', ({ tracking }) => tracking.drop()],
  ['drop an index', ({ tracking }) => tracking.dropIndex('stock_chain')],
  ['rename the ledger', ({ tracking }) => tracking.rename('inventory_other')],
  [
    'change what the ledger checks',
    ({ connection }) => connection.db!.command({ collMod: 'inventory_tracking' }),
  ],
  ['drop the database', ({ connection }) => connection.dropDatabase()],
  [
    'write the ledger by an aggregation',
    ({ stocks }) => stocks.aggregate([{ $out: 'inventory_tracking' }]).toArray(),
  ],
  ['make a user', ({ connection }) => connection.db!.command({ createUser: 'x', pwd: 'x', roles: [] })],
];
test.each(forbidden)('neither inventoryRun nor inventoryOperate can %s', async (_, work) => {
  for (const role of ['inventoryRun', 'inventoryOperate']) {
    await expect(work(open[role]!)).rejects.toMatchObject({ code: 13 });
  }
});

test('inventoryOperate reads everything and notes decisions about dead letters, and changes no stock', async () => {
  const database = open['inventoryOperate']!;
  expect(await cli('inventoryOperate', 'audit')).toMatchObject({ code: 0, err: '' });
  const traced = await cli('inventoryOperate', 'trace', 'A', '--json');
  expect([traced.code, JSON.parse(traced.out)]).toMatchObject([0, { stock: { onHand: '77' } }]);
  const letter = {
    _id: 'dead/0/1/0',
    state: 'RETRYING',
    actor: 'ana',
    reason: 'fixed',
    at: new Date(),
  } as const;
  expect(await claim(database, letter)).toBe(true);
  await noteSent(database, letter._id, { topic: 't', partition: 0, offset: '1' });
  expect((await readStates(database, [letter._id])).get(letter._id)).toMatchObject({ state: 'RETRIED' });
  await expect(database.stocks.updateOne({ _id: 'A' }, { $set: { onHand: 0 } })).rejects.toMatchObject({
    code: 13,
  });
  await expect(database.tracking.insertOne({ _id: 'x' } as never)).rejects.toMatchObject({ code: 13 });
});

test('inventoryArchive moves old documents, and inventoryRun still knows them', async () => {
  const before = new Date(Date.now() + 60_000);
  const counts = await archive(open['inventoryArchive']!, { before, signal: new AbortController().signal });
  expect([counts.complete, counts.entries]).toEqual([true, expect.any(Number)]);
  expect(counts.entries).toBeGreaterThan(40);
  expect(await desk.deliver(order('G-3', { A: '-1', B: '1' }))).toMatchObject({ outcome: 'DUPLICATE' });
  expect(await cli('inventoryOperate', 'audit')).toMatchObject({ code: 0, err: '' });
  await expect(open['inventoryArchive']!.stocks.updateOne({}, { $set: { onHand: 0 } })).rejects.toMatchObject(
    {
      code: 13,
    },
  );
});

test('a right that is missing is named, without what the command held', async () => {
  await expect(setupDatabase(open['inventoryRun']!)).rejects.toThrow(
    /^the user of MONGO_URL may not createIndexes on inventory_\w+: SECURITY\.md lists the rights of each verb$/,
  );
  const reader = createDesk(open['inventoryOperate']!);
  await expect(reader.deliver(order('S-9', { A: '-2' }))).rejects.toThrow(
    /^the user of MONGO_URL may not insert on inventory_tracking: /,
  );
});

test('what keeps us out is said with the variable', async () => {
  const stranger = url('inventoryRun', 'made-up', certificates.strangersCa);
  const wrong: [string, RegExp][] = [
    [url('inventoryRun', 'other'), /does not take the user or the password of MONGO_URL/],
    [stranger, /not trusted .*tlsCAFile and the host in MONGO_URL/],
    [url('inventoryRun', 'made-up', '/nothing'), /a file that MONGO_URL names cannot be read .*\/nothing/],
    [url('inventoryRun').replace(/&tls=.*/, ''), /closes the connection .*See tls/],
  ];
  // Side by side: the driver looks for a better server for 5 s each time.
  await Promise.all(wrong.map(([address, says]) => expect(connectDatabase(address)).rejects.toThrow(says)));
});

test('`inventory config` masks every secret that an address can hold', () => {
  const MONGO_URL =
    'mongodb://ana:pass-1@mongo/inventory?tls=true&tlsCertificateKeyFilePassword=pass-2' +
    '&authMechanismProperties=SERVICE_NAME:x,AWS_SESSION_TOKEN:pass-3&replicaSet=rs0';
  const shown = describeConfig(readConfig({ MONGO_URL }));
  expect(shown).toContain('mongodb://ana:********@mongo/inventory?tls=true');
  expect(shown).toContain('replicaSet=rs0');
  expect(shown).not.toMatch(/pass-\d/);
});
