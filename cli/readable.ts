/** Bytes of a record as a person can read them: text where it is text, otherwise what each byte is. */
import { visible } from './context';

const MAX_BYTES = 4_096;
const utf8 = new TextDecoder('utf-8', { fatal: true });

export function readable(bytes: Buffer | null): string {
  if (bytes === null) return '(null)';
  const cut = bytes.length > MAX_BYTES ? ` … (${bytes.length} bytes)` : '';
  const shown = bytes.subarray(0, MAX_BYTES);
  try {
    const text = utf8.decode(shown, { stream: cut !== '' });
    return `${visible(text)}${cut}`;
  } catch {
    const hex = shown.subarray(0, 512).toString('hex').replace(/../g, '$& ').trim();
    return `(${bytes.length} bytes) ${hex}${bytes.length > 512 ? ' …' : ''}`;
  }
}
