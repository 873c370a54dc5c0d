/**
 * A door in front of the Temporal of the test run, which has neither TLS nor keys itself: HTTP/2 over TLS with a
 * certificate of the client, or with an API key in the header that Temporal's services read.
 */
import { readFileSync } from 'node:fs';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Certificates } from './certificates';

export interface Door {
  address: string;
  /** Calls that were let through. */
  passed(): number;
  close(): void;
}

const { HTTP2_HEADER_STATUS, NGHTTP2_FLAG_END_STREAM } = http2.constants;
const UNAUTHENTICATED = '16';

export async function openDoor(
  certificates: Certificates,
  behind: string,
  asks: { clientCertificate: true } | { apiKey: string },
): Promise<Door> {
  const server = http2.createSecureServer({
    cert: readFileSync(certificates.server.cert),
    key: readFileSync(certificates.server.key),
    ca: readFileSync(certificates.ca),
    requestCert: 'clientCertificate' in asks,
    rejectUnauthorized: true,
  });
  const upstream = http2.connect(`http://${behind}`);
  let passed = 0;
  server.on('sessionError', () => undefined);
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    if ('apiKey' in asks && headers.authorization !== `Bearer ${asks.apiKey}`) {
      const refusal = { 'grpc-status': UNAUTHENTICATED, 'grpc-message': 'Request unauthorized.' };
      stream.respond(
        { [HTTP2_HEADER_STATUS]: 200, 'content-type': 'application/grpc', ...refusal },
        { endStream: true },
      );
      return;
    }
    passed += 1;
    const call = upstream.request(headers);
    let trailers: http2.OutgoingHttpHeaders = {};
    call.on('error', () => stream.close());
    stream.on('close', () => call.close());
    call.on('response', (answer, flags) => {
      const endStream = (flags & NGHTTP2_FLAG_END_STREAM) !== 0;
      stream.respond(answer, { endStream, waitForTrailers: !endStream });
    });
    call.on('trailers', (sent) => (trailers = sent as http2.OutgoingHttpHeaders));
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.pipe(call);
    call.pipe(stream);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed: () => passed,
    close: () => {
      upstream.destroy();
      server.close();
    },
  };
}
