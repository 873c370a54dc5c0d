/** Starting workflows on a real Temporal: what a start promises, and what it says when it cannot keep it. */
import { randomUUID } from 'node:crypto';
import { createConnection, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { Connection, WorkflowClient } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import pino from 'pino';
import { SEARCH_ATTRIBUTES, workflowIdOf } from '../commands';
import type { Command } from '../commands';
import { describeCommand, describeGroup } from '../bridge/describe';
import { createLauncher, createStarter, StartUnavailable } from '../bridge/start';
import type { LauncherSettings } from '../bridge/start';
import { Throttle } from '../bridge/throttle';
import { metrics } from '../metrics';
import { commandOf, metric, TestKafka, until } from './bridgeOnKafka';

const address = process.env['TEMPORAL_ADDRESS'] ?? '';
const log = pino({ level: 'silent' });
let connection: Connection;
let client: WorkflowClient;

beforeAll(async () => {
  if (address === '') throw new Error('TEMPORAL_ADDRESS is not set: run the tests through `npm test`');
  connection = await Connection.connect({ address, interceptors: [] });
  client = new WorkflowClient({ connection });
  const { operatorService } = connection;
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace: 'default' });
  const types = {
    [SEARCH_ATTRIBUTES.reference]: 2,
    [SEARCH_ATTRIBUTES.referenceType]: 2,
    [SEARCH_ATTRIBUTES.stocks]: 7,
  };
  const missing = Object.entries(types).filter(([name]) => !(name in customAttributes));
  const searchAttributes = Object.fromEntries(missing);
  if (missing.length > 0)
    await operatorService.addSearchAttributes({ namespace: 'default', searchAttributes });
});
afterAll(() => connection.close());

function starter(settings: Partial<LauncherSettings> = {}) {
  const taskQueue = `nobody-${randomUUID()}`;
  return createStarter(
    createLauncher({
      client,
      taskQueue,
      eager: false,
      concurrency: 20,
      searchAttributes: true,
      log,
      ...settings,
    }),
  );
}

const order = (): Command => commandOf(`SO-${randomUUID()}`, { topic: 'orders', partition: 3, offset: '42' });

test('promise 3: when a start resolves, the workflow exists, under the ID that the command makes', async () => {
  const command = order();
  await expect(starter().start(command)).resolves.toBe('started');
  const { status, type } = await client.getHandle(workflowIdOf(command)).describe();
  expect([status.name, type]).toEqual(['RUNNING', 'moveStock']);
});

test('a redelivery is a duplicate, also while both are under way; a terminated workflow may run again', async () => {
  const command = order();
  const results = await Promise.all(Array.from({ length: 10 }, () => starter().start(command)));
  expect(results.filter((r) => r === 'started')).toHaveLength(1);
  expect(results.filter((r) => r === 'duplicate')).toHaveLength(9);
  await client.getHandle(workflowIdOf(command)).terminate();
  await expect(starter().start(command)).resolves.toBe('started');
});

test('the Web UI answers what happened to an order: attributes, summary and details', async () => {
  const command = order();
  await starter().start(command);
  const found = await client.getHandle(workflowIdOf(command)).describe();
  const { referenceId } = command.input as { referenceId: string };
  expect(found.searchAttributes).toMatchObject({
    InventoryReference: [`SALE_ORDER/${referenceId}`],
    InventoryReferenceType: ['SALE_ORDER'],
    InventoryStocks: ['STK-1'],
  });
  expect(await found.staticSummary()).toBe(
    `SALE_ORDER ${referenceId}: STK-1 -2 (orders, partition 3, offset 42)`,
  );
  expect(await found.staticDetails()).toContain('- `STK-1` `-2`');
  expect(await found.staticDetails()).toContain('From `orders`, partition 3, offset 42');
});

test('hostile and oversized commands fit Temporal and cannot format the Web UI', async () => {
  const nasty = '`**x**`\n# [a](http://b)<img>\u202e\ud800';
  const legs = Array.from({ length: 1_000 }, (_, i) => ({
    inventoryStockId: `${'ü'.repeat(55)}${i}`,
    delta: '1',
  }));
  const command = order();
  Object.assign(command.input, { referenceId: `${randomUUID()}${'ü'.repeat(40)}`, legs });
  await expect(starter().start(command)).resolves.toBe('started');
  const found = await client.getHandle(workflowIdOf(command)).describe();
  expect(Object.keys(found.searchAttributes)).toHaveLength(3);
  expect(await found.staticDetails()).toMatch(/and \d+ more: see the input/);

  const hostile = order();
  Object.assign(hostile.input, { legs: [{ inventoryStockId: nasty, delta: '1' }] });
  const { staticSummary, staticDetails } = describeCommand(hostile);
  expect(staticSummary).not.toMatch(/[\n\u202e]|(?<!\\)[`*<[]/);
  expect(staticDetails.split('\n').filter((line) => line.startsWith('#'))).toEqual([]);
  expect(staticDetails).toContain('- `` `**x**`�# [a](http://b)<img>�� `` `+1`');
});

test('a group names as many of its references as fit, and cuts no character in two', () => {
  const command = commandOf('SO-1', { topic: 'orders', partition: 0, offset: '7' });
  const commands = Array.from({ length: 1_000 }, () => command);
  for (const shift of ['', 'x']) {
    const ids = commands.map((_, i) => `SALE_ORDER/${shift}${'😀'.repeat(40)}${i}/${'0'.repeat(32)}`);
    const { staticDetails } = describeGroup(commands, ids);
    const bytes = Buffer.byteLength(JSON.stringify(staticDetails));
    expect(bytes).toBeLessThanOrEqual(19_500);
    expect(bytes).toBeGreaterThan(19_480);
    expect(staticDetails).toContain('- orders\\[0\\] 7..7 (1000)');
    expect(staticDetails.endsWith('…')).toBe(true);
    expect(staticDetails).not.toMatch(/\p{Cs}/u);
  }
});

test('every kind of command starts its own type', async () => {
  const source = { topic: 'cdc', partition: 0, offset: '1' };
  const [merchantId, variantId] = [randomUUID(), randomUUID()];
  const commands: Command[] = [
    { type: 'ensureDefaultLocation', input: { schema: 1, merchantId, source } },
    { type: 'ensureInventoryItem', input: { schema: 1, merchantId, variantId, source } },
  ];
  for (const command of commands) {
    await expect(starter().start(command)).resolves.toBe('started');
    expect((await client.getHandle(workflowIdOf(command)).describe()).type).toBe(command.type);
  }
});

describe('what is not the fault of the command', () => {
  test.each(['Connection', 'NativeConnection'])(
    'over a %s, a search attribute that is not registered: starts without, and counts',
    async (kind) => {
      const native = kind === 'NativeConnection' ? await NativeConnection.connect({ address }) : undefined;
      const namespace = `bare-${randomUUID()}`;
      const workflowExecutionRetentionPeriod = { seconds: 86_400 as unknown as never };
      await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
      const bare = new WorkflowClient({ connection: native ?? connection, namespace });
      const missing = await metric(metrics.attributesMissing);
      const start = starter({ client: bare });
      const commands = [order(), order()] as const;
      // A new namespace takes a moment to be known everywhere.
      await until(async () => expect(await start.start(commands[0])).toMatch(/started|duplicate/));
      await expect(start.start(commands[1])).resolves.toBe('started');
      expect(await metric(metrics.attributesMissing)).toBe(missing + 2);
      const found = await bare.getHandle(workflowIdOf(commands[1])).describe();
      expect(found.searchAttributes).toEqual({});
      expect(await found.staticSummary()).toContain('STK-1 -2');
      await native?.close();
    },
    30_000,
  );

  test('a missing namespace is refused, as something a person must see to', async () => {
    const lost = new WorkflowClient({ connection, namespace: 'nobody-made-this' });
    const failure = starter({ client: lost }).start(order());
    await expect(failure).rejects.toThrow(StartUnavailable);
    await expect(failure).rejects.toMatchObject({ reason: 'temporal-refused' });
    await expect(failure).rejects.toThrow(/nobody-made-this/);
  });

  test('a Temporal that takes connections and never answers: unavailable within the deadline', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const to = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const lazy = Connection.lazy({ address: to, interceptors: [] });
    const start = starter({ client: new WorkflowClient({ connection: lazy }), callTimeoutMs: 500 });
    const began = Date.now();
    await expect(start.start(order())).rejects.toMatchObject({ reason: 'temporal-unavailable' });
    expect(Date.now() - began).toBeLessThan(3_000);
    await lazy.close();
    expect(sockets.length).toBeGreaterThan(0);
    sockets.forEach((socket) => socket.destroy());
    silent.close();
  });

  test('a Temporal that went away under the connection of worker and bridge: unavailable within the deadline', async () => {
    const [host, port] = address.split(':') as [string, string];
    const sockets: Socket[] = [];
    const proxy = createServer((near) => {
      const far = createConnection(Number(port), host);
      for (const socket of [near, far]) socket.on('error', () => undefined);
      sockets.push(near, far);
      near.pipe(far).pipe(near);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => proxy.once('listening', resolve));
    const to = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const native = await NativeConnection.connect({ address: to });
    const start = starter({
      client: new WorkflowClient({ connection: native }),
      eager: true,
      callTimeoutMs: 1_000,
    });
    await expect(start.start(order())).resolves.toBe('started');
    proxy.close();
    sockets.forEach((socket) => socket.destroy());
    const began = Date.now();
    await expect(start.start(order())).rejects.toMatchObject({ reason: 'temporal-unavailable' });
    expect(Date.now() - began).toBeLessThan(2_000);
    await native.close();
  });

  test('a Temporal that is not there: unavailable', async () => {
    const lazy = Connection.lazy({ address: '127.0.0.1:1', interceptors: [] });
    const start = starter({ client: new WorkflowClient({ connection: lazy }), callTimeoutMs: 1_000 });
    await expect(start.start(order())).rejects.toMatchObject({
      name: 'StartUnavailable',
      reason: 'temporal-unavailable',
    });
    await lazy.close();
  });

  test('throttled: slows down, is no dead letter, and a workflow that is there counts as a duplicate', async () => {
    const throttled = new WorkflowClient({ connection });
    let asked = 0;
    Object.defineProperty(throttled, 'workflowService', {
      value: Object.assign(Object.create(connection.workflowService), {
        startWorkflowExecution: () => {
          asked++;
          const status = { code: 8, details: 'namespace rate limit exceeded', metadata: { get: () => [] } };
          return Promise.reject(Object.assign(new Error('8 RESOURCE_EXHAUSTED'), status));
        },
      }),
    });
    const start = starter({ client: throttled });
    await expect(start.start(order())).rejects.toMatchObject({ reason: 'temporal-throttled' });
    const began = Date.now();
    await expect(start.start(order())).rejects.toMatchObject({ reason: 'temporal-throttled' });
    expect(Date.now() - began).toBeGreaterThan(500);
    const existing = order();
    await starter().start(existing);
    await expect(start.start(existing)).resolves.toBe('duplicate');
    expect(asked).toBe(3);
  });
});

test('the rate falls to half of what went through, and is free again after calls that work', async () => {
  const throttle = new Throttle(10);
  const call = () => throttle.run(() => Promise.resolve(throttle.worked()));
  for (let i = 0; i < 50; i++) await call();
  throttle.slower();
  const slowed = throttle.limitPerSecond;
  expect(slowed).toBeLessThan(1_000);
  throttle.slower();
  expect(throttle.limitPerSecond).toBe(slowed);
  for (let i = 0; i < 200_000 && throttle.limitPerSecond !== Infinity; i++) throttle.worked();
  expect(throttle.limitPerSecond).toBe(Infinity);
});

test('what waits for its turn leaves when nobody waits for it any more', async () => {
  const throttle = new Throttle(1);
  let finish: () => void = () => undefined;
  const first = throttle.run(() => new Promise<void>((resolve) => (finish = resolve)));
  const gone = new AbortController();
  const second = throttle.run(() => Promise.resolve('never'), gone.signal);
  const third = throttle.run(() => Promise.resolve('third'));
  gone.abort();
  await expect(second).resolves.toBe('aborted');
  finish();
  await first;
  await expect(third).resolves.toBe('third');
});

test('eager start works over the connection that bridge and worker share', async () => {
  const native = await NativeConnection.connect({ address });
  const command = order();
  const start = starter({ client: new WorkflowClient({ connection: native }), eager: true });
  await expect(start.start(command)).resolves.toBe('started');
  await expect(start.start(command)).resolves.toBe('duplicate');
  await native.close();
});

test('from Kafka to Temporal: the offset passes when the workflows exist', async () => {
  const on = new TestKafka();
  await on.open();
  const topic = await on.topic();
  const groupId = `g-${randomUUID()}`;
  const run = randomUUID();
  await on.send(
    topic,
    Array.from({ length: 30 }, (_, i) => ({ value: `ok ${run}-${i % 25}` })),
  );
  const counted = await metric(metrics.starts, { result: 'duplicate' });
  const bridge = await on.bridge({ topics: [topic], groupId, starter: starter() });
  await until(async () => expect(await on.committed(groupId, topic)).toEqual([30]));
  for (let i = 0; i < 25; i++) await client.getHandle(workflowIdOf(commandOf(`${run}-${i}`))).describe();
  expect(await metric(metrics.starts, { result: 'duplicate' })).toBe(counted + 5);
  await bridge.drain();
  await on.close();
});
