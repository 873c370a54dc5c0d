/** The product watched from outside: readiness follows real servers, metrics and log lines say what happened. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inTransaction, transactionTrouble, TransactionUnavailableError } from '../activities/transaction';
import { readAlerts } from '../docs/reference';
import { registry } from '../metrics';
import { freePorts } from '../stack/ports';
import { startStack, type Stack } from '../stack/stack';
import { countParked } from '../visibility';
import { createSystem, type Process, type System } from './system';

jest.setTimeout(400_000);
const OBEYED = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202e]/;
const dataDir = mkdtempSync(path.join(tmpdir(), 'inventory-watch-'));
/** Servers of this file alone: they are killed. */
let stack: Stack<'temporal' | 'mongo'>;
let system: System;
let run: Process;
let url: string;
let sdkUrl: string;

beforeAll(async () => {
  stack = await startStack({ dataDir, ports: 'free', servers: ['temporal', 'mongo'] });
  const { kafka: port } = await freePorts();
  sdkUrl = `http://127.0.0.1:${port}/metrics`;
  system = await createSystem(1, { ...stack.env, LOG_LEVEL: 'debug', SDK_METRICS_PORT: String(port) });
  run = await system.start('run');
  url = lines().find((line) => typeof line['url'] === 'string')!['url'] as string;
});
afterAll(async () => {
  await system.close();
  await stack.stop(0);
  rmSync(dataDir, { recursive: true, force: true });
});

type Line = Record<string, unknown> & { level: number; msg: string };
/** Whole lines of the process so far. */
const lines = () =>
  run
    .output()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
const metrics = async (from = `${url}/metrics`) => (await fetch(from)).text();
async function readyz() {
  const response = await fetch(`${url}/readyz`);
  const { ready, parts } = (await response.json()) as {
    ready: boolean;
    parts: Record<'bridge' | 'worker', { reasons: string[] }>;
  };
  expect(ready).toBe(response.status === 200);
  return { status: response.status, bridge: parts.bridge.reasons, worker: parts.worker.reasons };
}
async function until<T>(ask: () => Promise<T>, holds: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (holds(answer)) return answer;
    await sleep(100);
  }
}

/** An order whose ID turns the direction of text, with what no log line may hold. */
const paid = (id: string, quantity: string, stockId = 'A') => ({
  saleOrderId: `${id}\u202e${system.name}`,
  paidAt: new Date().toISOString(),
  customer: 'PAYLOAD',
  lines: [{ stockId, quantity }],
});

test('a run with every kind of outcome: metrics without IDs, log lines with reference, workflow and source', async () => {
  await system.database.stock('A', '10');
  await system.database.stocks.insertOne({ _id: 'BROKEN', onHand: 'many' as unknown as number });
  expect(await readyz()).toEqual({ status: 200, bridge: [], worker: [] });
  await system.publish('PAYMENT_SUCCESS', [
    paid('SO-1', '2'),
    paid('SO-2', '1', 'BROKEN'),
    paid('SO-3', 'PAYLOAD'),
  ]);
  const applied = () => system.database.tracking.countDocuments({ outcome: 'APPLIED' });
  await until(applied, (count) => count === 1);
  await system.publish('PAYMENT_SUCCESS', [paid('SO-1', '3')]);
  // A workflow that no worker knows: its tasks fail, as after a deploy that does not fit.
  const stranger = await system.temporal.client.workflow.start('nobodyKnows', {
    taskQueue: system.name,
    workflowId: `stranger-${system.name}`,
  });
  const text = await until(metrics, (all) =>
    [
      'inventory_worker_parked_total{reference_type="SALE_ORDER",case="CONFLICT"} 1',
      'inventory_worker_activity_failures_total{activity="adjustStock",error="BrokenStockError"} 4',
    ].every((line) => all.includes(line)),
  );
  const topic = system.config.KAFKA_TOPIC_PAYMENT_SUCCESS;
  for (const line of [
    `inventory_bridge_records_total{topic="${topic}",became="command"} 3`,
    `inventory_bridge_records_total{topic="${topic}",became="dead-letter"} 1`,
    `inventory_bridge_dead_letters_total{topic="${topic}"} 1`,
    `inventory_bridge_oldest_record_seconds{topic="${topic}",partition="0"} 0`,
    `inventory_bridge_lag{topic="${topic}",partition="0"} 0`,
    'inventory_bridge_handover_seconds_count 3',
    'inventory_worker_event_to_ledger_seconds_count{reference_type="SALE_ORDER"} 1',
    'inventory_worker_outcomes_total{reference_type="SALE_ORDER",outcome="CONFLICT"} 1',
    'inventory_worker_below_zero_total{reference_type="SALE_ORDER"} 0',
    'inventory_ready{part="bridge"} 1',
    'inventory_ready{part="worker"} 1',
  ])
    expect(text).toContain(line);
  expect(text).toContain('process_resident_memory_bytes');
  // The one place where names of this run may stand.
  expect(text.replaceAll(`topic="${system.name}.`, '')).not.toContain(system.name);
  expect(text).not.toMatch(/SO-1|PAYLOAD|BROKEN"/);

  const sdk = await until(
    () => metrics(sdkUrl),
    (all) => all.includes('temporal_workflow_task_execution_failed'),
  );
  const dashboard = readFileSync(
    path.join(__dirname, '..', 'deploy', 'monitoring', 'grafana-dashboard.json'),
    'utf8',
  );
  const used = `${dashboard} ${readAlerts()
    .map(({ expr }) => expr)
    .join(' ')}`.match(/\btemporal_\w+/g)!;
  expect(used.length).toBeGreaterThan(2);
  for (const name of new Set(used)) expect(sdk).toMatch(new RegExp(`^${name}\\{`, 'm'));
  expect(sdk).toMatch(/temporal_workflow_task_execution_failed\{[^}]*failure_reason="WorkflowError"/);
  await stranger.terminate();

  await countParked(system.temporal.client.workflow, system.name);
  await until(
    async () => {
      await countParked(system.temporal.client.workflow, system.name);
      return registry.getSingleMetricAsString('inventory_worker_parked_now');
    },
    (shown) => shown.includes('{case="CONFLICT",came_in="under-1h"} 1'),
  );
  expect(await registry.getSingleMetricAsString('inventory_worker_parked_now')).toMatch(
    /\{case="CONFLICT",came_in="over-7d"\} 0\n[^]*\{case="REFUSED",came_in="under-1h"\} 0\n/,
  );
});

test('log lines of that run: JSON, each about a command says which, and no text of an event', () => {
  const order = (id: string) => `SALE_ORDER/${encodeURIComponent(`${id}\u202e${system.name}`)}`;
  const source = (offset: number) => ({
    topic: system.config.KAFKA_TOPIC_PAYMENT_SUCCESS,
    partition: 0,
    offset: String(offset),
  });
  const about = (id: string, offset: number) => ({
    reference: order(id),
    workflowId: expect.stringMatching(
      new RegExp(`^${order(id).replaceAll('.', '\\.')}/[0-9a-f]{32}$`),
    ) as string,
    source: source(offset),
  });
  const said = (start: string) => lines().filter(({ msg }) => msg.startsWith(start));
  expect(said('command parked')).toEqual([
    expect.objectContaining({ level: 40, ...about('SO-1', 3), attempt: 2, case: 'CONFLICT' }),
  ]);
  // In the order in which Temporal answered.
  const handed = said('command handed over');
  expect(handed).toHaveLength(3);
  for (const fields of [about('SO-1', 0), about('SO-2', 1), about('SO-1', 3)])
    expect(handed).toContainEqual(expect.objectContaining({ level: 20, ...fields }));
  expect(said('command judged')).toContainEqual(
    expect.objectContaining({ level: 20, ...about('SO-1', 0), outcome: 'APPLIED' }),
  );
  expect(said('Activity failed')[0]).toMatchObject({
    level: 40,
    ...about('SO-2', 1),
    err: { type: 'BrokenStockError' },
  });
  expect(said('dead letter')).toMatchObject([
    { level: 40, source: source(2), reason: expect.stringContaining('lines[…].quantity: "…"') },
    { level: 20, source: source(2), reason: expect.stringContaining('"PAYLOAD"') },
  ]);
  for (const line of lines()) if (line.level > 20) expect(JSON.stringify(line)).not.toContain('PAYLOAD');
  expect(run.output()).not.toMatch(OBEYED);
  expect(run.output()).not.toContain('customer');
});

test('verbs show an ID that turns the direction of text without obeying it, and a query cannot be left', async () => {
  const reference = `SALE_ORDER/${encodeURIComponent(`SO-1\u202e${system.name}`)}`;
  const [left, forged, ...shown] = await Promise.all([
    system.cli('trace', "x' OR WorkflowId != '\\"),
    system.cli('parked', 'show', 'a\u001b[2Jb\nforged'),
    system.cli('parked', 'show', reference),
    system.cli('trace', reference, '--json'),
  ]);
  for (const { code, out, err } of shown) {
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('SO-1');
    expect(out).not.toMatch(OBEYED);
  }
  expect([left.code, left.out]).toEqual([1, expect.stringMatching(/^neither a stock nor a document x' OR/)]);
  expect([forged.code, forged.err.split('\n').length]).toEqual([2, 2]);
  expect(forged.err).not.toMatch(OBEYED);
});

test('a port that is taken is named with its variable, and the process ends', async () => {
  const HTTP_PORT = new URL(url).port;
  await expect(system.start('worker', { HTTP_PORT, SDK_METRICS_PORT: 'off' })).rejects.toThrow(
    `inventory: HTTP_PORT=${HTTP_PORT} with HTTP_HOST=127.0.0.1 cannot be used (EADDRINUSE)`,
  );
  const { code, err } = await system.cli('worker');
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(/^inventory: SDK_METRICS_PORT: 127\.0\.0\.1:\d+ cannot be used/m),
  ]);
});

test('transactions that come to nothing are a reason until one is completed', async () => {
  const { connection } = system.database;
  const fails = inTransaction(connection, 5_000, () =>
    Promise.reject(new TransactionUnavailableError('no majority')),
  );
  await expect(fails).rejects.toThrow('no majority');
  expect(transactionTrouble()).toMatch(/^transactions fail, last \d+ s ago: no majority$/);
  await inTransaction(connection, 30_000, () => Promise.resolve());
  expect(transactionTrouble()).toBeUndefined();
});

test('readiness: red with the reason for each part while servers are away, green again by itself', async () => {
  await Promise.all([stack.servers.temporal.kill('SIGKILL'), stack.servers.mongo.kill('SIGKILL')]);
  const temporal = expect.stringMatching(/^Temporal has not answered for \d+ s: /) as string;
  const mongo = expect.stringMatching(/^MongoDB has not answered for \d+ s: /) as string;
  const red = await until(
    readyz,
    ({ worker }) => worker.join().includes('MongoDB') && worker.join().includes('Temporal'),
  );
  expect(red).toMatchObject({
    status: 503,
    bridge: [temporal],
    worker: expect.arrayContaining([temporal, mongo]),
  });
  expect(await metrics()).toContain('inventory_ready{part="bridge"} 0');
  await stack.servers.mongo.start();
  await until(readyz, ({ worker }) => !worker.join().includes('MongoDB'));
  expect((await readyz()).status).toBe(503);
  await stack.servers.temporal.start();
  await until(readyz, ({ status }) => status === 200);
  // Not only said: an event goes through.
  const applied = () => system.database.tracking.countDocuments({ outcome: 'APPLIED' });
  await system.publish('PAYMENT_SUCCESS', [paid('SO-9', '1')]);
  await until(applied, (count) => count === 2);
  expect(
    lines()
      .filter(({ msg }) => msg === 'the server answers again')
      .map(({ server }) => server),
  ).toEqual(['MongoDB', 'Temporal']);
  expect(await run.kill('SIGTERM')).toBe(0);
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
});
