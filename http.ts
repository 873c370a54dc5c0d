/** The HTTP endpoint of a process: /metrics, /healthz and /readyz. Reads nothing, changes nothing. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigError } from './config';

/** What /readyz answers; 200 when ready, 503 otherwise. */
export interface Readiness {
  ready: boolean;
  parts: Record<string, { ready: boolean; reasons: string[] }>;
}

export interface EndpointSettings {
  host: string;
  /** 0 takes any free one. */
  port: number;
  readiness: () => Readiness;
  /** In Prometheus' text format. */
  metrics: () => Promise<string>;
}

export interface Endpoint {
  /** Where it listens, e.g. `http://127.0.0.1:9464`. */
  url: string;
  /** Bounded: whoever is still reading is cut off. */
  close(): Promise<void>;
}

/** A scrape is one small request; whoever needs longer than this, or more of anything, does something else. */
const LIMITS = {
  requestTimeout: 5_000,
  headersTimeout: 5_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 8_192,
} as const;
const MAX_CONNECTIONS = 100;
const ANSWER_WITHIN_MS = 10_000;
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

type Answer = [status: number, type: string, body: string];

/** @throws ConfigError when it cannot listen there, naming the variable */
export async function openEndpoint(settings: EndpointSettings): Promise<Endpoint> {
  const server = createServer(LIMITS, (request, response) => {
    void answer(request, settings)
      .catch((): Answer => [500, 'text/plain', 'failed\n'])
      .then((answered) => send(response, answered));
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.setTimeout(ANSWER_WITHIN_MS);
  // What is no HTTP gets no answer that an attacker could learn from.
  server.on('clientError', (_error, socket) => socket.destroy());
  await listen(server, settings);
  const { address, port, family } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(request: IncomingMessage, settings: EndpointSettings): Promise<Answer> {
  if (request.method !== 'GET') return [405, 'text/plain', 'only GET\n'];
  switch (request.url?.split('?', 1)[0]) {
    case '/healthz':
      return [200, 'application/json', '{"alive":true}\n'];
    case '/readyz': {
      const readiness = settings.readiness();
      return [readiness.ready ? 200 : 503, 'application/json', `${JSON.stringify(readiness)}\n`];
    }
    case '/metrics':
      return [200, METRICS_TYPE, await settings.metrics()];
    default:
      return [404, 'text/plain', 'try /metrics, /healthz or /readyz\n'];
  }
}

function send(response: ServerResponse, [status, type, body]: Answer): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(status === 405 ? { allow: 'GET' } : {}),
    // A body that comes with the request is not read, so the connection cannot be used again.
    ...(status >= 400 && status !== 503 ? { connection: 'close' } : {}),
  });
  response.end(body);
}

async function listen(server: Server, { host, port }: EndpointSettings): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const remedy =
        error.code === 'EADDRINUSE'
          ? 'another program listens there; set HTTP_PORT to another port, to 0 for any free one, or to off'
          : 'set HTTP_HOST and HTTP_PORT to an address of this machine on which this user may listen';
      reject(
        new ConfigError(
          `HTTP_PORT=${port} with HTTP_HOST=${host} cannot be used (${error.code ?? error.message}): ${remedy}`,
          { cause: error },
        ),
      );
    });
    server.listen(port, host, () => resolve());
  });
}
