/** Made-up certificates: an authority, a server and a client that it vouches for, and an authority that nobody knows. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Paths of PEM files. */
export interface Certificates {
  ca: string;
  /** Of 127.0.0.1 and localhost. */
  server: Pair;
  /** Of the user `CN=inventory`. */
  client: Pair;
  strangersCa: string;
}

export interface Pair {
  cert: string;
  key: string;
  /** Key and certificate in one file. */
  both: string;
}

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
const VALID = ['-days', '2', '-sha256'];

/** @param folder that is removed after the tests */
export function makeCertificates(folder: string): Certificates {
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: ['ignore', 'pipe', 'pipe'] });

  const authority = (name: string) => {
    const files = ['-keyout', at(`${name}.key`), '-out', at(`${name}.pem`)];
    openssl('req', '-x509', ...EC, ...VALID, ...files, '-subj', `/CN=${name}`);
    return at(`${name}.pem`);
  };
  const pair = (name: string, commonName: string, extensions: string): Pair => {
    const [cert, key, both] = [at(`${name}.pem`), at(`${name}.key`), at(`${name}-both.pem`)];
    writeFileSync(at(`${name}.ext`), extensions);
    openssl('req', ...EC, '-keyout', key, '-out', at(`${name}.csr`), '-subj', `/CN=${commonName}`);
    const signer = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial'];
    openssl(
      ...['x509', '-req', '-in', at(`${name}.csr`), ...signer, ...VALID],
      ...['-extfile', at(`${name}.ext`), '-out', cert],
    );
    writeFileSync(both, execFileSync('cat', [key, cert]));
    return { cert, key, both };
  };

  const ca = authority('ca');
  return {
    ca,
    server: pair('server', '127.0.0.1', 'subjectAltName=IP:127.0.0.1,DNS:localhost\n'),
    client: pair('client', 'inventory', 'extendedKeyUsage=clientAuth\n'),
    strangersCa: authority('stranger'),
  };
}
