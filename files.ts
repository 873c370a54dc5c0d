/** Files that a setting or an option names. */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';

/** A certificate, a list of keys. */
export const SETTING_MAX_BYTES = 1024 * 1024;
/** A plan has about 300 bytes for each repair. */
export const PLAN_MAX_BYTES = 64 * 1024 * 1024;

/**
 * Reads a whole file.
 * @throws Error when it is no file (a folder, a device that never ends) or has more than `maxBytes`
 */
export function readFile(path: string, maxBytes: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new Error('is no file');
    if (found.size > maxBytes) throw new Error(`has ${found.size} bytes; at most ${maxBytes} are read`);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}
