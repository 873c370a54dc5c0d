/** Payloads encrypted and decrypted, and the codec server as the Web UI uses it. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { encodeErrorToFailure, loadDataConverter } from '@temporalio/common/lib/internal-non-workflow';
import { temporal } from '@temporalio/proto';
import fc from 'fast-check';
import { prepare } from '../cli/codecServer';
import { createCodec, dataConverter, parsePayloadKeys } from '../codec';
import { createCodecServer } from '../codecServer';
import { describeConfig, readConfig } from '../config';

const line = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
const [first, second] = [line('k1'), line('k2')];
const codecOf = (...lines: string[]) => createCodec(parsePayloadKeys(lines.join('\n')));
const payload = (value: unknown) => defaultPayloadConverter.toPayload(value);
const read = (of: Payload | undefined) => defaultPayloadConverter.fromPayload(of!);
const metadata = (of: Payload, name: string) => Buffer.from(of.metadata![name]!).toString();

test('a payload comes back as it was, and what is stored shows nothing of it but the ID of the key', async () => {
  const codec = codecOf(first);
  await fc.assert(
    fc.asyncProperty(fc.json(), async (json) => {
      const value = { stock: 'STK-SECRET', json };
      const [once, twice] = await codec.encode([payload(value), payload(value)]);
      expect(Buffer.from(once!.data!).equals(Buffer.from(twice!.data!))).toBe(false);
      expect(Buffer.from(once!.data!).includes('STK-SECRET')).toBe(false);
      expect(Object.keys(once!.metadata!)).toEqual(['encoding', 'encryption-cipher', 'encryption-key-id']);
      expect(metadata(once!, 'encryption-key-id')).toBe('k1');
      expect((await codec.decode([once!, twice!])).map(read)).toEqual([value, value]);
    }),
    { numRuns: 50 },
  );
});

test('a new key encrypts, an old one goes on decrypting, and a missing one is named with its remedy', async () => {
  const [old] = await codecOf(first).encode([payload('old')]);
  const rotated = codecOf(second, first);
  const [young] = await rotated.encode([payload('young')]);
  expect(metadata(young!, 'encryption-key-id')).toBe('k2');
  expect((await rotated.decode([old!, young!, payload('plain')])).map(read)).toEqual([
    'old',
    'young',
    'plain',
  ]);
  await expect(codecOf(second).decode([old!])).rejects.toThrow(
    'a payload is encrypted under key "k1": add that key to PAYLOAD_KEYS_FILE, which holds k2',
  );
  await expect(createCodec().decode([old!])).rejects.toThrow(/"k1": .*PAYLOAD_KEYS_FILE, which is not set/);
  expect(await createCodec().encode([payload('plain')])).toEqual([payload('plain')]);
});

test('whatever bit is changed, in the data or in the readable part, the payload is refused', async () => {
  const codec = codecOf(first, second);
  const [sealed] = await codec.encode([payload({ quantity: '-2' })]);
  const data = Buffer.from(sealed!.data!);
  for (let bit = 0; bit < data.length * 8; bit++) {
    const changed = Buffer.from(data);
    changed[bit >> 3]! ^= 1 << (bit & 7);
    await expect(codec.decode([{ ...sealed, data: changed }])).rejects.toThrow(/it was changed/);
  }
  for (const length of [0, 11, 27, data.length - 1])
    await expect(codec.decode([{ ...sealed, data: data.subarray(0, length) }])).rejects.toThrow(
      /it was changed/,
    );
  const otherKey = { ...sealed!.metadata, 'encryption-key-id': Buffer.from('k2') };
  await expect(codec.decode([{ ...sealed, metadata: otherKey }])).rejects.toThrow(
    /under key "k2": it was changed/,
  );
  const otherCipher = { ...sealed!.metadata, 'encryption-cipher': Buffer.from('none') };
  await expect(codec.decode([{ ...sealed, metadata: otherCipher }])).rejects.toThrow(/it was changed/);
});

test('the text of a failure is encrypted with the payloads', async () => {
  const failureOf = async (keys: string) => {
    const loaded = loadDataConverter(dataConverter(keys === '' ? undefined : parsePayloadKeys(keys)));
    const context = { type: 'workflow', namespace: 'default', workflowId: 'w' } as const;
    const failure = await encodeErrorToFailure(loaded, new Error('stock STK-SECRET is locked'), context);
    return Buffer.from(temporal.api.failure.v1.Failure.encode(failure).finish());
  };
  expect((await failureOf('')).includes('STK-SECRET')).toBe(true);
  expect((await failureOf(first)).includes('STK-SECRET')).toBe(false);
});

test('a list of keys that cannot be used is refused with its line, and never shown', () => {
  const folder = mkdtempSync(join(tmpdir(), 'inventory-keys-'));
  const file = join(folder, 'keys');
  const config = (content: string, more = {}) => {
    writeFileSync(file, content);
    return readConfig({ PAYLOAD_KEYS_FILE: file, ...more });
  };
  try {
    const good = `# since May\n\n${second}\n${first}\n`;
    expect(config(good).PAYLOAD_KEYS_FILE?.map(({ id }) => id)).toEqual(['k2', 'k1']);
    const shown = describeConfig(config(good, { CODEC_SERVER_TOKEN: 'a-token-of-16-or-more' }));
    expect(shown).toContain('PAYLOAD_KEYS_FILE=(read)');
    expect(shown).toContain('CODEC_SERVER_TOKEN=********');
    const faults: [string, RegExp][] = [
      ['', /holds no key/],
      [`${first}\n${first}`, /line 2: key k1 is there twice/],
      [`k1:${randomBytes(16).toString('base64')}`, /line 1: key k1 has 16 bytes instead of 32/],
      [`a b:${first.slice(3)}`, /line 1 is not id:base64/],
      [first.slice(3), /line 1 is not id:base64/],
    ];
    for (const [content, says] of faults) {
      let message = '';
      try {
        config(content);
      } catch (error) {
        message = (error as Error).message;
      }
      expect(message).toMatch(/^PAYLOAD_KEYS_FILE: /);
      expect(message).toMatch(says);
      expect(message).not.toContain(first.slice(3, 20));
    }
    expect(() => readConfig({ PAYLOAD_KEYS_FILE: folder })).toThrow(/PAYLOAD_KEYS_FILE: .*is no file/);
    writeFileSync(file, Buffer.alloc(1024 * 1024 + 1, '#'));
    expect(() => readConfig({ PAYLOAD_KEYS_FILE: file })).toThrow(/at most 1048576 are read/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe('the codec server', () => {
  const UI = 'http://ui.example:8233';
  const codec = codecOf(first);
  let server: Server;
  let guarded: Server;
  beforeAll(async () => {
    server = createCodecServer({ codec, origin: UI }).listen(0, '127.0.0.1');
    guarded = createCodecServer({ codec, origin: UI, token: 'a-token-of-16-or-more' }).listen(0, '127.0.0.1');
    await Promise.all([once(server, 'listening'), once(guarded, 'listening')]);
  });
  afterAll(() => [server, guarded].forEach((one) => one.close()));

  const port = (of: Server) => (of.address() as AddressInfo).port;
  const ask = (path: string, body: unknown, headers: Record<string, string> = {}, of = server) =>
    fetch(`http://127.0.0.1:${port(of)}${path}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', 'x-namespace': 'default', ...headers },
    });
  /** As protobuf's JSON has it. */
  const json = (...payloads: Payload[]) => temporal.api.common.v1.Payloads.fromObject({ payloads }).toJSON();

  test('decodes for the pages of the Web UI and for programs, and encodes what they send', async () => {
    const sealed = json(...(await codec.encode([payload({ stock: 'STK-1' })])));
    const decoded = await ask('/decode', sealed, { origin: UI });
    expect(decoded.status).toBe(200);
    expect(decoded.headers.get('access-control-allow-origin')).toBe(UI);
    expect(await decoded.json()).toEqual(json(payload({ stock: 'STK-1' })));
    expect(await (await ask('/default/decode', sealed)).json()).toEqual(json(payload({ stock: 'STK-1' })));
    const encoded = temporal.api.common.v1.Payloads.fromObject(
      (await (await ask('/encode', json(payload('discard')))).json()) as object,
    );
    expect((await codec.decode(encoded.payloads)).map(read)).toEqual(['discard']);
    const preflight = await fetch(`http://127.0.0.1:${port(server)}/decode`, {
      method: 'OPTIONS',
      headers: { origin: UI, 'access-control-request-method': 'POST' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
      204,
      expect.stringContaining('x-namespace'),
    ]);
  });

  test('refuses other pages, other paths, what is no list of payloads, and what was changed', async () => {
    const sealed = await codec.encode([payload('x')]);
    const foreign = await ask('/decode', json(...sealed), { origin: 'http://elsewhere.example' });
    expect([foreign.status, foreign.headers.get('access-control-allow-origin')]).toEqual([403, null]);
    expect((await ask('/keys', json(...sealed))).status).toBe(404);
    expect((await fetch(`http://127.0.0.1:${port(server)}/decode`)).status).toBe(405);
    for (const body of ['{', 'null', '{"payloads":7}', '{"payloads":["x"]}'])
      expect([body, (await ask('/decode', body)).status]).toEqual([body, 400]);
    const changed = { ...sealed[0], data: Buffer.from(sealed[0]!.data!).fill(0, 0, 1) };
    const answer = await ask('/decode', json(changed));
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('it was changed')]);
  });

  test('with a token only for those who bring it', async () => {
    const sealed = json(...(await codec.encode([payload('x')])));
    expect((await ask('/decode', sealed, {}, guarded)).status).toBe(401);
    expect((await ask('/decode', sealed, { authorization: 'Bearer other' }, guarded)).status).toBe(401);
    const right = { authorization: 'Bearer a-token-of-16-or-more' };
    expect((await ask('/decode', sealed, right, guarded)).status).toBe(200);
  });

  test('is not made without keys, nor where others reach it without a token', () => {
    const folder = mkdtempSync(join(tmpdir(), 'inventory-keys-'));
    const env = { PAYLOAD_KEYS_FILE: join(folder, 'keys') };
    writeFileSync(env.PAYLOAD_KEYS_FILE, first);
    const made = (more: object, host: string, at = '0') =>
      prepare(readConfig({ ...env, ...more }), { host, port: at });
    try {
      expect(() => made({ PAYLOAD_KEYS_FILE: '' }, '127.0.0.1')).toThrow('PAYLOAD_KEYS_FILE is not set');
      expect(() => made({}, '0.0.0.0')).toThrow('--host 0.0.0.0 lets others decrypt: set CODEC_SERVER_TOKEN');
      expect(() => made({ CODEC_SERVER_TOKEN: 'short' }, '0.0.0.0')).toThrow(/CODEC_SERVER_TOKEN: the given/);
      expect(() => made({}, '127.0.0.1', '65536')).toThrow('--port 65536 is no port');
      expect(made({ CODEC_SERVER_TOKEN: 'a-token-of-16-or-more' }, '0.0.0.0', '8234').port).toBe(8234);
      expect(made({}, '127.0.0.1').server.listening).toBe(false);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('waits no longer than its limit for a request that does not come to its end', async () => {
    const impatient = createCodecServer({ codec, origin: UI, requestMs: 200 }).listen(0, '127.0.0.1');
    await once(impatient, 'listening');
    const socket = connect(port(impatient), '127.0.0.1');
    socket.write('POST /decode HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 408 /);
    socket.destroy();
    impatient.close();
  });

  test('reads no body above its limit, whether it says so or not', async () => {
    const large = 'x'.repeat(8 * 1024 * 1024 + 1);
    expect((await ask('/decode', large)).status).toBe(413);
    const socket = connect(port(server), '127.0.0.1');
    socket.write('POST /decode HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    socket.write(`${large.length.toString(16)}\r\n${large}\r\n`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });
});
