/** The rivals' own servers. Each is a separate install: who does not compare needs neither. */
import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePort } from './ports';
import { launch, type Spawned } from './processes';

/** The repository: this file is dist/test/bench/rivalServers.js. */
export const ROOT = path.join(__dirname, '..', '..', '..');
export const RIVALS = path.join(ROOT, 'test', 'bench', 'rivals');

/** What is missing for a rival, with its remedy; undefined when it can be measured. */
export function missing(rival: 'restate' | 'dbos'): string | undefined {
  if (!existsSync(path.join(RIVALS, rival, 'node_modules'))) {
    return `not installed: npm ci --prefix test/bench/rivals/${rival}`;
  }
  if (rival === 'restate')
    return restateServer() ? undefined : 'restate-server has no build for this platform';
  return postgresFolder() ? undefined : 'PostgreSQL is not installed (Debian: apt-get install postgresql)';
}

function restateServer(): string | undefined {
  const scope = path.join(RIVALS, 'restate', 'node_modules', '@restatedev');
  const platform = `restate-server-${process.platform}-${process.arch}`;
  const program = path.join(scope, platform, 'bin', 'restate-server');
  return existsSync(program) ? program : undefined;
}

function postgresFolder(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...versions.map((version) => path.join(debian, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(path.delimiter),
  ];
  return folders.find((folder) => existsSync(path.join(folder, 'initdb')));
}

export interface Restate {
  server: Spawned;
  servicePort: number;
  /** Makes the server know the service and read the topics. */
  connect: (topics: readonly string[], groupId: string) => Promise<void>;
}

/** Restate with the settings that were best on two cores: as many partitions as cores. */
export async function startRestate(dir: string, brokers: string): Promise<Restate> {
  mkdirSync(dir, { recursive: true });
  const [node, ingress, admin, servicePort] = [freePort(), freePort(), freePort(), freePort()];
  const config = path.join(dir, 'restate.toml');
  writeFileSync(
    config,
    `base-dir = "${dir}/data"
node-name = "bench"
bind-address = "127.0.0.1:${await node}"
advertised-address = "http://127.0.0.1:${await node}"
default-num-partitions = 2
log-filter = "warn"
disable-telemetry = true

[admin]
bind-address = "127.0.0.1:${await admin}"

[ingress]
bind-address = "127.0.0.1:${await ingress}"

[[ingress.kafka-clusters]]
name = "bench"
brokers = ["PLAINTEXT://${brokers}"]
`,
  );
  const api = `http://127.0.0.1:${await admin}`;
  const server = await launch({
    name: 'restate-server',
    program: restateServer()!,
    args: ['--config-file', config, '--no-logo', '--listen-mode', 'tcp'],
    env: process.env,
    logFile: path.join(dir, 'restate.log'),
    ready: () =>
      fetch(`${api}/health`).then(
        (answer) => answer.ok,
        () => false,
      ),
  });
  const post = async (place: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${api}${place}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`Restate answers ${answer.status} to ${place}: ${await answer.text()}`);
  };
  return {
    server,
    servicePort: await servicePort,
    connect: async (topics, groupId) => {
      await post('/deployments', { uri: `http://127.0.0.1:${await servicePort}` });
      for (const topic of topics) {
        const options = { 'group.id': `${groupId}-${topic}`, 'auto.offset.reset': 'earliest' };
        await post('/subscriptions', {
          source: `kafka://bench/${topic}`,
          sink: 'service://inventory/moveStock',
          options,
        });
      }
    },
  };
}

/** PostgreSQL as it comes, durable commits included. */
export async function startPostgres(dir: string): Promise<{ server: Spawned; url: string }> {
  const bin = postgresFolder()!;
  mkdirSync(dir, { recursive: true });
  const user = postgresUser();
  if (user) chownSync(dir, user.uid, user.gid);
  const data = path.join(dir, 'data');
  execFileSync(path.join(bin, 'initdb'), ['-D', data, '-U', 'bench', '--auth=trust', '--encoding=UTF8'], {
    stdio: 'ignore',
    ...user,
  });
  const port = await freePort();
  const listen = ['-p', String(port), '-k', dir, '-c', 'listen_addresses=127.0.0.1'];
  const server = await launch({
    name: 'postgres',
    program: path.join(bin, 'postgres'),
    args: ['-D', data, ...listen, '-c', 'shared_buffers=256MB'],
    env: process.env,
    logFile: path.join(dir, 'postgres.log'),
    ready: 'ready to accept connections',
    ...(user ? { user } : {}),
  });
  return { server, url: `postgresql://bench@127.0.0.1:${port}/bench_dbos` };
}

/** PostgreSQL refuses to run as root. */
function postgresUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
