import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Command } from 'commander';
import { createCodec } from '../codec';
import { createCodecServer } from '../codecServer';
import type { Config } from '../config';
import { print, settings, UsageError } from './context';

/** Only programs of this machine reach these. */
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

interface Options {
  host: string;
  port: string;
}

/** `inventory codec-server`: lets the Web UI read what is encrypted, without giving it a key. */
export function registerCodecServer(program: Command): void {
  program
    .command('codec-server')
    .description(
      'decrypt payloads for the pages of TEMPORAL_UI_URL; enter its address there as remote codec endpoint',
    )
    .option('--host <address>', 'where to listen; whoever reaches it can decrypt', '127.0.0.1')
    .option('--port <number>', '0: any free one', '8234')
    .action(serve);
}

/** Until SIGTERM or SIGINT. */
async function serve(options: Options): Promise<void> {
  const config = settings();
  const { server, port } = prepare(config, options);
  server.listen(port, options.host);
  await once(server, 'listening');
  const { address, port: taken, family } = server.address() as AddressInfo;
  const host = family === 'IPv6' ? `[${address}]` : address;
  print(`codec server at http://${host}:${taken} for pages of ${config.TEMPORAL_UI_URL}`);
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  server.closeAllConnections();
  server.close();
}

/** @throws UsageError for a server that could not decrypt, or would for everybody */
export function prepare(config: Config, { host, port }: Options): { server: Server; port: number } {
  const { PAYLOAD_KEYS_FILE: keys, TEMPORAL_UI_URL, CODEC_SERVER_TOKEN: token } = config;
  if (!keys) throw new UsageError('PAYLOAD_KEYS_FILE is not set: there is nothing to decrypt with');
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) throw new UsageError(`--port ${port} is no port`);
  if (!token && !LOOPBACK.has(host)) {
    throw new UsageError(`--host ${host} lets others decrypt: set CODEC_SERVER_TOKEN, which they must bring`);
  }
  const { origin } = new URL(TEMPORAL_UI_URL);
  return { server: createCodecServer({ codec: createCodec(keys), origin, token }), port: Number(port) };
}
