/**
 * Encodes and decodes payloads over HTTP for Temporal's Web UI and command line, which have no keys themselves:
 * `POST /encode` and `POST /decode` with `{"payloads":[…]}` as protobuf's JSON.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { timingSafeEqual } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { PayloadKeyError } from './codec';

export interface CodecServerSettings {
  codec: PayloadCodec;
  /** Pages of this origin, such as `http://127.0.0.1:8233`, may ask; pages of any other may not. */
  origin: string;
  /** When set, every request has to bring `Authorization: Bearer <token>`. */
  token?: string | undefined;
  /** A request that is not through by then is cut off. */
  requestMs?: number;
}

/** Temporal's own limit of a message is 4 MB, which base64 makes a third larger. */
const BODY_MAX_BYTES = 8 * 1024 * 1024;
const REQUEST_MS = 10_000;
const MAX_CONNECTIONS = 50;

const wire = temporal.api.common.v1.Payloads;

class CodecRequestError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Does not listen yet. */
export function createCodecServer(settings: CodecServerSettings): Server {
  const { requestMs = REQUEST_MS } = settings;
  const server = createServer(
    {
      requestTimeout: requestMs,
      headersTimeout: requestMs,
      keepAliveTimeout: requestMs,
      // Node looks no more often than this, by itself only every 30 s.
      connectionsCheckingInterval: requestMs / 5,
    },
    (request, response) => {
      answer(request, settings).then(
        ({ status, body }) => send(response, settings, request, status, body),
        (error: unknown) => {
          const status =
            error instanceof CodecRequestError ? error.status : error instanceof PayloadKeyError ? 400 : 500;
          // What else goes wrong may quote what it read.
          const message = status === 500 ? 'the codec server failed' : (error as Error).message;
          send(response, settings, request, status, { message });
        },
      );
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  return server;
}

async function answer(
  request: IncomingMessage,
  { codec, origin, token }: CodecServerSettings,
): Promise<{ status: number; body?: object }> {
  const { method, headers, url = '' } = request;
  if (headers.origin !== undefined && headers.origin !== origin)
    throw new CodecRequestError(403, 'only pages of TEMPORAL_UI_URL may ask');
  if (method === 'OPTIONS') return { status: 204 };
  if (token !== undefined && !sameText(headers.authorization ?? '', `Bearer ${token}`))
    throw new CodecRequestError(401, 'the bearer token is missing or wrong');
  const path = url.split('?')[0]!;
  // The Web UI may put the namespace before it.
  const work = /\/(encode|decode)$/.exec(path)?.[1] as 'encode' | 'decode' | undefined;
  if (work === undefined) throw new CodecRequestError(404, 'there are /encode and /decode');
  if (method !== 'POST') throw new CodecRequestError(405, 'use POST');
  const payloads = parse(await read(request));
  return { status: 200, body: wire.fromObject({ payloads: await codec[work](payloads) }).toJSON() };
}

function parse(text: string): Payload[] {
  try {
    return wire.fromObject(JSON.parse(text) as object).payloads;
  } catch {
    throw new CodecRequestError(400, 'the body is not {"payloads":[…]}');
  }
}

async function read(request: IncomingMessage): Promise<string> {
  const tooLarge = new CodecRequestError(413, `the body has more than ${BODY_MAX_BYTES} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > BODY_MAX_BYTES) throw tooLarge;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_MAX_BYTES) throw tooLarge;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function send(
  response: ServerResponse,
  { origin }: CodecServerSettings,
  request: IncomingMessage,
  status: number,
  body: object | undefined,
): void {
  const headers: Record<string, string> = { 'cache-control': 'no-store', vary: 'Origin' };
  if (request.headers.origin === origin) {
    headers['access-control-allow-origin'] = origin;
    headers['access-control-allow-credentials'] = 'true';
    headers['access-control-allow-methods'] = 'POST, OPTIONS';
    headers['access-control-allow-headers'] = 'content-type, x-namespace, authorization, caller-type';
  }
  if (body) headers['content-type'] = 'application/json';
  // What was not read of a refused body is not waited for.
  if (!request.complete) headers['connection'] = 'close';
  response.writeHead(status, headers).end(body && JSON.stringify(body));
}

/** Tells nothing of where two texts differ. */
function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
