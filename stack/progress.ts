/** Says while something takes time how far it is. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const EVERY_MS = 5_000;

/** Runs `work`; says at its start, every five seconds, and at its end how much there is. */
export async function watched(
  title: string,
  amount: () => string,
  onProgress: (line: string) => void,
  work: () => Promise<unknown>,
): Promise<void> {
  const started = Date.now();
  const say = (what: string) =>
    onProgress(`${title}: ${what}, ${Math.round((Date.now() - started) / 1000)} s`);
  onProgress(`${title} ...`);
  const timer = setInterval(() => say(amount()), EVERY_MS);
  try {
    await work();
    say(`done, ${amount()}`);
  } finally {
    clearInterval(timer);
  }
}

/** The size of everything in a folder, which may change while it is read. */
export function folderBytes(folder: string): string {
  let bytes = 0;
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const found = statSync(join(folder, name), { throwIfNoEntry: false });
    if (found?.isFile()) bytes += found.size;
  }
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
