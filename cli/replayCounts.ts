/** What the records of a replay come to, counted. */
import type { Verdict } from '../activities/forecast';

/** Records by verdict; `ignored` and `undecodable` never become a command. */
export type Counts = Partial<Record<Verdict['verdict'] | 'ignored' | 'undecodable', number>>;

export function add(counts: Counts, what: keyof Counts, by = 1): void {
  counts[what] = (counts[what] ?? 0) + by;
}

/**
 * Where an applied replay came to something else than its forecast, and the only reasons there are for it.
 * Empty when they are equal.
 */
export function differencesOf(forecast: Counts, done: Counts): string[] {
  const names = new Set([...Object.keys(forecast), ...Object.keys(done)] as (keyof Counts)[]);
  const lines = [...names]
    .filter((name) => (forecast[name] ?? 0) !== (done[name] ?? 0))
    .map((name) => `${name}: forecast ${forecast[name] ?? 0}, came to ${done[name] ?? 0}`);
  if (lines.length > 0) {
    lines.push(
      'the ledger or the stocks changed between forecast and replay: live events, a decision, another replay',
    );
  }
  return lines;
}
