/** How far a replay has come, in a file: the same command again goes on from there, after Ctrl-C or a crash. */
import { createHash } from 'node:crypto';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { Span } from '../bridge/replaySpans';
import { readFile, SETTING_MAX_BYTES } from '../files';
import { UsageError } from './context';
import type { Counts } from './replayCounts';

export interface ReplayCheckpoint {
  /** What is left. The end is that of the first run: what was produced since is no part of it. */
  spans: Span[];
  /** ISO 8601: what the ledger recorded since may be of this replay. */
  startedAt: string;
  /** What was forecast before the first record was applied. */
  forecast: Counts;
  /** What became of the records that are through. */
  done: Counts;
}

interface Stored {
  inventoryReplay: 1;
  of: string;
  startedAt: string;
  spans: { partition: number; from: string; to: string }[];
  forecast: Counts;
  done: Counts;
}

/** Name of the file for a command; the same words give the same name. */
export function checkpointFile(topic: string, words: object): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([topic, words]))
    .digest('hex')
    .slice(0, 8);
  return `inventory-replay-${topic.replace(/[^A-Za-z0-9._-]/g, '_')}-${hash}.json`;
}

/** @throws UsageError when the file belongs to another command */
export function readCheckpoint(file: string, of: string): ReplayCheckpoint | undefined {
  if (!existsSync(file)) return undefined;
  let stored: Partial<Stored> = {};
  try {
    stored = JSON.parse(readFile(file, SETTING_MAX_BYTES).toString()) as Stored;
  } catch {
    // Said below.
  }
  if (stored.inventoryReplay !== 1 || stored.of !== of) {
    throw new UsageError(
      `${file} is no checkpoint of this replay: remove it, or name another with --checkpoint`,
    );
  }
  const { spans, startedAt, forecast, done } = stored as Stored;
  return {
    startedAt,
    forecast,
    done,
    spans: spans.map(({ partition, from, to }) => ({ partition, from: BigInt(from), to: BigInt(to) })),
  };
}

/** Replaces the file as a whole: a crash leaves the old one or the new one. */
export function writeCheckpoint(file: string, of: string, { spans, ...rest }: ReplayCheckpoint): void {
  const stored: Stored = {
    inventoryReplay: 1,
    of,
    ...rest,
    spans: spans.map(({ partition, from, to }) => ({ partition, from: String(from), to: String(to) })),
  };
  writeFileSync(`${file}.new`, JSON.stringify(stored));
  renameSync(`${file}.new`, file);
}

export function removeCheckpoint(file: string): void {
  rmSync(file, { force: true });
}
