/** One entry of the cache: made beside its place and renamed there at once, so that a half one is never seen. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** No fetch takes this long: what is older was left by a process that died. */
const ABANDONED_MS = 60 * 60_000;

/**
 * Fills a folder beside `place` with `fetch`, then renames it to `place`. Of two processes that fetch at once, the
 * slower one discards what it has and uses the other's.
 */
export async function fetchInto(place: string, fetch: (into: string) => Promise<void>): Promise<void> {
  const cache = dirname(place);
  mkdirSync(cache, { recursive: true });
  removeAbandoned(cache);
  const half = mkdtempSync(join(cache, `.half-${basename(place)}-`));
  try {
    await fetch(half);
    publish(half, place);
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
}

function publish(half: string, place: string): void {
  try {
    renameSync(half, place);
  } catch (error) {
    // A folder can't be renamed onto one that holds files: the other process was first.
    if (!existsSync(place)) throw error;
  }
}

function removeAbandoned(cache: string): void {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (name.startsWith('.half-') && age > ABANDONED_MS) rmSync(path, { recursive: true, force: true });
  }
}
