/** What Temporal really stores when keys are set: on real workers, with a key that is replaced on the way. */
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { temporal } from '@temporalio/proto';
import { createLauncher, createStarter } from '../bridge/start';
import { parsePayloadKeys } from '../codec';
import { moveStockWorkflowId, SEARCH_ATTRIBUTES } from '../commands';
import { PARKED_QUERY } from '../decisions';
import { createLogger } from '../log';
import { findBinary } from '../stack/binaries';
import { connectTemporal, type Temporal } from '../temporal';
import { order } from './commandsFor';
import { createSystem, type Process, type System } from './system';

jest.setTimeout(400_000);
const folder = mkdtempSync(path.join(tmpdir(), 'inventory-codec-'));
const keyFile = path.join(folder, 'keys');
const [k1, k2] = ['k1', 'k2'].map((id) => `${id}:${randomBytes(32).toString('base64')}`) as [string, string];
const signed = ['--actor', 'ana-secret', '--reason', 'typo-secret'];
let system: System;
let worker: Process | undefined;
/** With both keys. */
let keyed: Temporal;
let sealed: string;

beforeAll(async () => {
  system = await createSystem(1, { PAYLOAD_KEYS_FILE: '' });
  keyed = await connectTemporal({ ...system.config, PAYLOAD_KEYS_FILE: parsePayloadKeys(`${k1}\n${k2}`) });
  await system.database.stock('STK-SECRET', '5000');
  system.env['PAYLOAD_KEYS_FILE'] = keyFile;
});
afterAll(async () => {
  await keyed.connection.close();
  await system.close();
  rmSync(folder, { recursive: true });
});

/** Ends the worker and starts one that has these keys. */
async function restart(...keys: string[]): Promise<void> {
  await worker?.kill('SIGTERM');
  writeFileSync(keyFile, keys.join('\n'));
  worker = await system.start('worker', keys.length > 0 ? {} : { PAYLOAD_KEYS_FILE: '' });
}

/** Starts the document as the bridge does, then an edited one, and waits until that is parked. */
async function parkEdited(id: string, { client }: Temporal): Promise<string> {
  const launch = createLauncher({
    client: client.workflow,
    taskQueue: system.name,
    eager: false,
    concurrency: 1,
    searchAttributes: true,
    log: createLogger('silent'),
  });
  const first = order(`${id}-${system.name}`, { 'STK-SECRET': '-123.25' });
  const edited = order(`${id}-${system.name}`, { 'STK-SECRET': '-987.654' });
  await createStarter(launch).start({ type: 'moveStock', input: first });
  await keyed.client.workflow.result(moveStockWorkflowId(first));
  await createStarter(launch).start({ type: 'moveStock', input: edited });
  const handle = client.workflow.getHandle(moveStockWorkflowId(edited));
  while ((await handle.describe()).searchAttributes[SEARCH_ATTRIBUTES.outcome] === undefined)
    await sleep(100);
  return handle.workflowId;
}

async function events(workflowId: string): Promise<temporal.api.history.v1.IHistoryEvent[]> {
  const { history } = await system.temporal.client.workflowService.getWorkflowExecutionHistory({
    namespace: system.temporal.namespace,
    execution: { workflowId },
  });
  return history!.events!;
}

/** Which texts of stock, quantities, topic and person stand readable in the events, search attributes left out. */
function readable(of: temporal.api.history.v1.IHistoryEvent[]): string[] {
  const wire = temporal.api.history.v1.HistoryEvent;
  const bytes = of.map((event) => {
    const copy = wire.decode(wire.encode(event).finish());
    const { workflowExecutionStartedEventAttributes, upsertWorkflowSearchAttributesEventAttributes } = copy;
    for (const part of [
      workflowExecutionStartedEventAttributes,
      upsertWorkflowSearchAttributesEventAttributes,
    ])
      if (part) part.searchAttributes = null;
    return Buffer.from(wire.encode(copy).finish());
  });
  const texts = ['STK-SECRET', '987.654', '123.25', 'PAYMENT_SUCCESS', 'ana-secret', 'typo-secret'];
  return texts.filter((text) => bytes.some((each) => each.includes(text)));
}

function keysUsed(of: temporal.api.history.v1.IHistoryEvent[]): string[] {
  const bytes = Buffer.from(temporal.api.history.v1.History.encode({ events: of }).finish());
  return ['k1', 'k2'].filter((id) => bytes.includes(`encryption-key-id\x12\x02${id}`));
}

test('parked in plain and decided under a key: what came before is read, what comes after is sealed', async () => {
  await restart();
  const plain = await parkEdited('PLAIN', system.temporal);
  expect(readable(await events(plain))).toEqual(['STK-SECRET', '987.654', '123.25', 'PAYMENT_SUCCESS']);
  await restart(k1);
  const decided = await system.cli('parked', 'resolve', plain, '--decision', 'correct', ...signed);
  expect(decided).toMatchObject({ code: 0, err: '' });
  expect(readable(await events(plain))).not.toContain('ana-secret');
  expect(await system.database.onHand('STK-SECRET')).toBe('4012.346');
});

test('a worker without the key changes nothing and says which one it needs', async () => {
  sealed = await parkEdited('SEALED', keyed);
  expect(readable(await events(sealed))).toEqual([]);
  expect(keysUsed(await events(sealed))).toEqual(['k1']);
  await restart(k2);
  const shown = await system.cli('parked', 'show', sealed);
  expect([shown.code, shown.err]).toEqual([2, expect.stringMatching(/cannot read .*PAYLOAD_KEYS_FILE/)]);
  const needed =
    'a payload is encrypted under key \\"k1\\": add that key to PAYLOAD_KEYS_FILE, which holds k2';
  while (!worker!.output().includes(needed)) await sleep(100);
});

test('parked under one key and decided under the next: input, result, decision and texts are unreadable', async () => {
  await restart(k2, k1);
  const shown = await system.cli('parked', 'show', sealed);
  expect([shown.code, shown.out]).toEqual([0, expect.stringContaining('STK-SECRET')]);
  const decided = await system.cli('parked', 'resolve', sealed, '--decision', 'correct', ...signed);
  expect(decided).toMatchObject({ code: 0, err: '' });
  const history = await events(sealed);
  expect(readable(history)).toEqual([]);
  expect(keysUsed(history)).toEqual(['k1', 'k2']);
  expect(await system.database.onHand('STK-SECRET')).toBe('3024.692');
  await system.database.expectChainsHold({ 'STK-SECRET': '5000' });

  const encoding = (payload: temporal.api.common.v1.IPayload | null | undefined) =>
    payload && Buffer.from(payload.metadata!['encoding']!).toString();
  const shownTexts = history.flatMap(({ userMetadata }) => [userMetadata?.summary, userMetadata?.details]);
  const encodings = shownTexts.map(encoding).filter(Boolean);
  expect(encodings.length).toBeGreaterThan(2);
  expect(new Set(encodings)).toEqual(new Set(['binary/encrypted']));
  for (const queryType of [PARKED_QUERY, '__temporal_workflow_metadata']) {
    const { queryResult } = await keyed.client.workflowService.queryWorkflow({
      namespace: keyed.namespace,
      execution: { workflowId: sealed },
      query: { queryType },
    });
    expect([queryType, encoding(queryResult!.payloads![0])]).toEqual([queryType, 'binary/encrypted']);
  }
  const description = await keyed.client.workflow.getHandle(sealed).describe();
  expect(await description.staticDetails()).toContain('STK-SECRET');
});

test('workflow IDs and search attributes are not encrypted', async () => {
  expect(sealed).toContain(`SALE_ORDER/SEALED-${system.name}/`);
  const [started] = await events(sealed);
  const { searchAttributes } = started!.workflowExecutionStartedEventAttributes!;
  const value = (name: string) => Buffer.from(searchAttributes!.indexedFields![name]!.data!).toString();
  expect(value(SEARCH_ATTRIBUTES.stocks)).toBe('["STK-SECRET"]');
  expect(value(SEARCH_ATTRIBUTES.reference)).toBe(`"SALE_ORDER/SEALED-${system.name}"`);
});

test('the codec server decodes a history for the command line of Temporal, which has no key', async () => {
  const program = [path.join(__dirname, '..', 'dist', 'cli.js'), 'codec-server', '--port', '0'];
  const server = spawn(process.execPath, program, { env: system.env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => server.once('exit', resolve));
  try {
    const said = await new Promise<string>((resolve) =>
      server.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString())),
    );
    const [endpoint] = /http:\/\/127\.0\.0\.1:\d+/.exec(said)!;
    const { path: temporalCli } = await findBinary('temporal');
    const show = async (...more: string[]) => {
      const address = ['--address', system.env['TEMPORAL_ADDRESS']!, '--output', 'json'];
      const args = ['workflow', 'show', '--workflow-id', sealed, ...address, ...more];
      const { stdout } = await promisify(execFile)(temporalCli, args);
      return [...stdout.matchAll(/"data": "([^"]*)"/g)].map(([, data]) =>
        Buffer.from(data!, 'base64').toString(),
      );
    };
    const holds = (texts: string[], what: string) => texts.some((text) => text.includes(what));
    expect(holds(await show(), '987.654')).toBe(false);
    const decoded = await show('--codec-endpoint', endpoint);
    for (const text of ['987.654', 'ana-secret']) expect([text, holds(decoded, text)]).toEqual([text, true]);
  } finally {
    server.kill('SIGTERM');
  }
  expect(await ended).toBe(0);
});
