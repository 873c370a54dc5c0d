/** The endpoint of a process: what it answers, what it refuses, and the order of a drain. */
import { request } from 'node:http';
import { readConfig } from '../config';
import { openEndpoint, type Endpoint } from '../http';
import { createLogger } from '../log';
import { openHealth, type Health } from '../readiness';

let endpoint: Endpoint;
let ready = true;
beforeAll(async () => {
  endpoint = await openEndpoint({
    host: '127.0.0.1',
    port: 0,
    readiness: () => ({ ready, parts: { bridge: { ready, reasons: ready ? [] : ['orders[3]: bug'] } } }),
    metrics: () => (ready ? Promise.resolve('a 1\n') : Promise.reject(new Error('secret'))),
  });
});
afterAll(() => endpoint.close());
beforeEach(() => (ready = true));

const get = (path: string, init?: RequestInit) => fetch(`${endpoint.url}${path}`, init);

test('alive, ready with reasons as JSON, metrics; nothing else, and only by GET', async () => {
  expect(await (await get('/healthz')).json()).toEqual({ alive: true });
  expect((await get('/readyz')).status).toBe(200);
  expect(await (await get('/metrics?x=1')).text()).toBe('a 1\n');
  expect((await get('/')).status).toBe(404);
  expect((await get('/metrics/../etc')).status).toBe(404);
  for (const method of ['POST', 'PUT', 'DELETE', 'HEAD']) {
    const refused = await get('/metrics', {
      method,
      ...(method === 'HEAD' ? {} : { body: 'x'.repeat(9_000_000) }),
    }).catch(() => undefined);
    // A large body is not read: the answer may come with a connection that is cut.
    if (refused) expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET']);
  }
  ready = false;
  const red = await get('/readyz');
  expect([red.status, await red.json()]).toEqual([
    503,
    { ready: false, parts: { bridge: { ready: false, reasons: ['orders[3]: bug'] } } },
  ]);
  const failed = await get('/metrics');
  expect([failed.status, await failed.text()]).toEqual([500, 'failed\n']);
  // Not alive any more only when the process is gone.
  expect((await get('/healthz')).status).toBe(200);
});

test('a request with too large a head is cut off', async () => {
  const outcome = new Promise((resolve) => {
    const asked = request(`${endpoint.url}/metrics`, { headers: { x: 'y'.repeat(20_000) } });
    asked.on('response', (response) => resolve(response.statusCode));
    asked.on('error', () => resolve('cut off'));
    asked.end();
  });
  expect(['cut off', 431]).toContain(await outcome);
});

test('a port that is taken, and an address that is not ours, are named with their variable', async () => {
  const port = Number(new URL(endpoint.url).port);
  const open = (env: Record<string, string>) =>
    openHealth(readConfig(env), { bridge: true, worker: false }, createLogger('silent'));
  await expect(open({ HTTP_PORT: String(port) })).rejects.toThrow(
    `HTTP_PORT=${port} with HTTP_HOST=127.0.0.1 cannot be used (EADDRINUSE): another program listens there; set HTTP_PORT`,
  );
  await expect(open({ HTTP_HOST: '192.0.2.1', HTTP_PORT: '0' })).rejects.toThrow(
    /HTTP_HOST=192\.0\.2\.1 .*HTTP_HOST/,
  );
  for (const bad of ['65536', '-1', 'on', '80a', ''].filter(Boolean))
    expect(() => readConfig({ HTTP_PORT: bad })).toThrow(
      `HTTP_PORT: ${JSON.stringify(bad)} must be a port from 0 to 65535, or off`,
    );
  expect(() => readConfig({ SDK_METRICS_PORT: '0' })).toThrow('SDK_METRICS_PORT: "0" must be a port from 1');
  expect(() => readConfig({ HTTP_PORT: '9000', SDK_METRICS_PORT: '9000' })).toThrow(/both 9000/);
});

test('a process is ready once all its parts are and its servers answer, and red first when it drains', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger('info', 'json', (line) => lines.push(JSON.parse(line) as Record<string, unknown>));
  const health: Health = await openHealth(
    readConfig({ HTTP_PORT: '0' }),
    { bridge: true, worker: true },
    log,
  );
  const url = lines[0]!['url'] as string;
  const readyz = async () => {
    const response = await fetch(`${url}/readyz`);
    const { parts } = (await response.json()) as { parts: Record<string, { reasons: string[] }> };
    return [response.status, parts['bridge']!.reasons, parts['worker']!.reasons];
  };
  try {
    expect(await readyz()).toEqual([503, ['starting'], ['starting']]);
    health.report('bridge', () => []);
    expect(await readyz()).toEqual([503, [], ['starting']]);
    health.report('worker', () => []);
    expect(await readyz()).toEqual([200, [], []]);
    let asked = 0;
    health.watch('MongoDB', ['worker'], () => {
      asked++;
      return Promise.reject(new Error('no primary'));
    });
    while ((await readyz())[0] === 200) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await readyz()).toEqual([
      503,
      [],
      [expect.stringMatching(/^MongoDB has not answered for \d+ s: no primary$/)],
    ]);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(
      /inventory_ready\{part="bridge"\} 1\ninventory_ready\{part="worker"\} 0\n/,
    );
    // A storm of probes asks no server anything.
    const before = asked;
    await Promise.all(Array.from({ length: 50 }, readyz));
    expect(asked - before).toBeLessThan(10);
    health.draining();
    expect(await readyz()).toEqual([503, ['draining'], ['draining']]);
  } finally {
    await health.close();
  }
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  expect(lines[1]).toMatchObject({ level: 40, server: 'MongoDB', message: 'no primary' });
});
