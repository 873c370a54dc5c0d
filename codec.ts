/**
 * Encrypts what Temporal stores: each payload as a whole with AES-256-GCM, under the first of the keys. Any of them
 * decrypts, so that a key can be replaced while workflows run. What was stored in plain is read as it is.
 */
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';

export interface PayloadKey {
  /** Stands readable beside each payload. */
  id: string;
  key: KeyObject;
}

/** A payload that cannot be decrypted; the message names the key and the remedy. */
export class PayloadKeyError extends Error {
  override readonly name = 'PayloadKeyError';
}

/** Metadata of an encrypted payload. Whoever reads it with another program needs these names. */
const METADATA = { encoding: 'encoding', cipher: 'encryption-cipher', keyId: 'encryption-key-id' } as const;
const ENCODING = 'binary/encrypted';
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
/** What GCM takes without hashing; random, so one key is good for 2^32 payloads. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const wire = temporal.api.common.v1.Payload;

/**
 * Reads keys, one `id:base64 of 32 bytes` a line; empty lines and lines that start with `#` are left out.
 * @throws Error that names the line, never a key
 */
export function parsePayloadKeys(text: string): PayloadKey[] {
  const keys: PayloadKey[] = [];
  text.split('\n').forEach((raw, index) => {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) return;
    const [, id, base64] = /^([\w.-]{1,64}):([A-Za-z0-9+/]+={0,2})$/.exec(line) ?? [];
    if (id === undefined || base64 === undefined) throw new Error(`line ${index + 1} is not id:base64`);
    const bytes = Buffer.from(base64, 'base64');
    if (bytes.length !== KEY_BYTES)
      throw new Error(`line ${index + 1}: key ${id} has ${bytes.length} bytes instead of ${KEY_BYTES}`);
    if (keys.some((key) => key.id === id)) throw new Error(`line ${index + 1}: key ${id} is there twice`);
    keys.push({ id, key: createSecretKey(bytes) });
  });
  if (keys.length === 0) throw new Error('holds no key');
  return keys;
}

/** Without keys nothing is encrypted, and what was encrypted before is refused with the reason. */
export function createCodec(keys: readonly PayloadKey[] = []): PayloadCodec {
  const [current] = keys;
  return {
    encode: (payloads) =>
      Promise.resolve(current ? payloads.map((payload) => encrypt(payload, current)) : payloads),
    // eslint-disable-next-line @typescript-eslint/require-await -- a refusal is a rejected promise
    decode: async (payloads) => payloads.map((payload) => decrypt(payload, keys)),
  };
}

/** What worker and clients are given. With keys, the texts of failures are encrypted as well. */
export function dataConverter(keys: readonly PayloadKey[] | undefined): DataConverter {
  return {
    payloadCodecs: [createCodec(keys)],
    ...(keys ? { failureConverterPath: require.resolve('./failures') } : {}),
  };
}

function encrypt(payload: Payload, { id, key }: PayloadKey): Payload {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(authenticated(id));
  const parts = [nonce, cipher.update(wire.encode(payload).finish()), cipher.final(), cipher.getAuthTag()];
  return {
    metadata: {
      [METADATA.encoding]: Buffer.from(ENCODING),
      [METADATA.cipher]: Buffer.from(CIPHER),
      [METADATA.keyId]: Buffer.from(id),
    },
    data: Buffer.concat(parts),
  };
}

function decrypt(payload: Payload, keys: readonly PayloadKey[]): Payload {
  const told = (name: string) => Buffer.from(payload.metadata?.[name] ?? []).toString();
  if (told(METADATA.encoding) !== ENCODING) return payload;
  const id = told(METADATA.keyId);
  const found = keys.find((key) => key.id === id);
  if (!found) {
    const held =
      keys.length === 0 ? 'which is not set' : `which holds ${keys.map((key) => key.id).join(', ')}`;
    throw new PayloadKeyError(
      `a payload is encrypted under key ${JSON.stringify(id)}: add that key to PAYLOAD_KEYS_FILE, ${held}`,
    );
  }
  const data = Buffer.from(payload.data ?? []);
  const end = data.length - TAG_BYTES;
  try {
    if (told(METADATA.cipher) !== CIPHER || end < NONCE_BYTES) throw new Error('not of this form');
    const nonce = data.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, found.key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(authenticated(id)).setAuthTag(data.subarray(end));
    return wire.decode(Buffer.concat([decipher.update(data.subarray(NONCE_BYTES, end)), decipher.final()]));
  } catch (error) {
    throw new PayloadKeyError(
      `a payload is not what was encrypted under key ${JSON.stringify(id)}: it was changed, or PAYLOAD_KEYS_FILE has another key under this ID`,
      { cause: error },
    );
  }
}

/** The readable metadata, so that a change of it is noticed as well. */
function authenticated(id: string): Buffer {
  return Buffer.from(JSON.stringify([ENCODING, CIPHER, id]));
}
