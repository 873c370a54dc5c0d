/** The image and the compose file, as far as they can be checked without a container engine. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { CONSUMER_LIMITS } from '../bridge/consume';
import { TIME_LIMITS_MS } from '../commands';
import { readConfig } from '../config';

const ROOT = join(__dirname, '..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

interface Stage {
  name: string | undefined;
  /** Instruction and arguments, continued lines joined. */
  lines: [string, string][];
}

function stages(dockerfile: string): Stage[] {
  const found: Stage[] = [];
  const lines = dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line !== '');
  for (const line of lines) {
    const [instruction, rest] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)];
    if (instruction === 'FROM') found.push({ name: / AS (\w+)$/.exec(rest)?.[1], lines: [] });
    found.at(-1)!.lines.push([instruction, rest]);
  }
  return found;
}

const all = stages(read('Dockerfile'));
const image = all.at(-1)!;
const said = (stage: Stage, instruction: string) =>
  stage.lines.filter(([name]) => name === instruction).map(([, rest]) => rest);
/** The longest that anything takes after SIGTERM. */
const longestEndMs =
  CONSUMER_LIMITS.drainMs + TIME_LIMITS_MS.shutdownGrace + TIME_LIMITS_MS.activityStartToClose;

test('what the stages copy exists, and what one takes from another is one of them', () => {
  const names = all.map((stage) => stage.name);
  for (const copied of all.flatMap((stage) => said(stage, 'COPY'))) {
    const from = /^--from=(\w+) (\S+)/.exec(copied);
    if (from)
      expect([names, ['/app/node_modules', '/app/dist'].includes(from[2]!)]).toEqual([
        expect.arrayContaining([from[1]]),
        true,
      ]);
    else
      for (const file of copied.split(' ').slice(0, -1))
        expect([file, existsSync(join(ROOT, file))]).toEqual([file, true]);
  }
  for (const [script] of said(all[0]!, 'RUN')
    .join(' ')
    .matchAll(/(?<=node dist\/)[\w/]+(?=\.js)/g))
    expect([script, existsSync(join(ROOT, `${script}.ts`))]).toEqual([script, true]);
});

test('the build sees every source folder and nothing else', () => {
  const { include } = JSON.parse(read('tsconfig.json')) as { include: string[] };
  const seen = read('.dockerignore').split('\n');
  expect(seen.filter((line) => line !== '' && !line.startsWith('#'))[0]).toBe('*');
  for (const folder of include) expect(seen).toContain(`!${folder}`);
  for (const secret of ['.env', 'node_modules', '.git', '.stack']) expect(seen).not.toContain(`!${secret}`);
});

test('the image runs as nobody special, gets signals itself, and has production dependencies only', () => {
  expect(said(image, 'USER')).toEqual(['1000:1000']);
  expect(JSON.parse(said(image, 'ENTRYPOINT')[0]!)).toEqual(['node', '/app/dist/cli.js']);
  expect(said(image, 'STOPSIGNAL')).toEqual(['SIGTERM']);
  const modules = all.find((stage) => stage.name === 'modules')!;
  expect(said(modules, 'RUN')[0]).toContain('npm ci --omit=dev');
  expect(new Set(all.map((stage) => said(stage, 'FROM')[0]!.split(' ')[0])).size).toBe(1);
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
  const version = /^node:(\d+)\.(\d+)-/.exec(said(image, 'FROM')[0]!)!.slice(1).map(Number);
  const least = /(\d+)\.(\d+)/.exec(engines.node)!.slice(1).map(Number);
  expect(version[0] === least[0] && version[1]! >= least[1]!).toBe(true);
});

test('the health check answers for the state of the process', async () => {
  const [, script] = /CMD (\[.*\])/.exec(said(image, 'HEALTHCHECK')[0]!)!;
  const [program, flag, code] = JSON.parse(script!) as string[];
  expect([program, flag]).toEqual(['node', '-e']);
  const { createServer } = await import('node:http');
  const { spawn } = await import('node:child_process');
  let status = 200;
  let path: string | undefined;
  const server = createServer((request, response) => {
    path = request.url;
    response.writeHead(status).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const check = () =>
    new Promise((resolve) =>
      spawn(process.execPath, ['-e', code!], { env: { HTTP_PORT: String(port) } }).once('exit', resolve),
    );
  expect([await check(), path]).toEqual([0, '/healthz']);
  status = 503;
  expect(await check()).toBe(1);
  await new Promise((resolve) => server.close(resolve));
  expect(await check()).toBe(1);
});

test('compose runs bridge and worker beside the servers, only when asked, with time to drain', () => {
  interface Service {
    profiles?: string[];
    command: string[];
    environment: Record<string, string>;
    stop_grace_period: string;
    depends_on: Record<string, unknown>;
    read_only: boolean;
  }
  const { services } = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, Service>;
  };
  const ours = Object.entries(services).filter(([, { profiles }]) => profiles?.includes('app'));
  expect(ours.map(([name, { command }]) => [name, ...command])).toEqual([
    ['setup', 'setup'],
    ['bridge', 'bridge'],
    ['worker', 'worker'],
  ]);
  for (const [, service] of ours) {
    expect(() => readConfig(service.environment)).not.toThrow();
    expect(Number(/^(\d+)s$/.exec(service.stop_grace_period)![1]) * 1_000).toBeGreaterThan(longestEndMs);
    expect(service.read_only).toBe(true);
    for (const other of Object.keys(service.depends_on)) expect(Object.keys(services)).toContain(other);
  }
});

test('the units give a process time to drain and tell the worker its version', () => {
  for (const verb of ['bridge', 'worker']) {
    const unit = read(`deploy/systemd/inventory-${verb}@.service`);
    expect(unit).toContain(`ExecStart=/usr/bin/node dist/cli.js ${verb}\n`);
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1]) * 1_000).toBeGreaterThan(longestEndMs);
    expect(unit.includes('TEMPORAL_DEPLOYMENT_NAME=inventory TEMPORAL_WORKER_BUILD_ID=%i')).toBe(
      verb === 'worker',
    );
  }
});
