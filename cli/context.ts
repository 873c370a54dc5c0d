/** What every verb needs: settings, connections that close again, and one way to print. */
import dotenv from 'dotenv';
import type { Kafka } from 'kafkajs';
import { connectDatabase, type Database } from '../activities/models';
import { openKafka } from '../bridge/kafka';
import { readConfig, type Config } from '../config';
import { kafkaSettings } from '../connections';
import { createLogger } from '../log';
import { connectTemporal, routeTemporalLogs, type Temporal } from '../temporal';
import { escapeInvisible, visible } from '../visible';

export { visible };

/** Exit codes of every verb. */
export const EXIT = { fine: 0, foundSomething: 1, couldNotRun: 2 } as const;

/** Something the caller did wrong or must decide; printed without a stack, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Settings from the environment and `.env` in the working directory; the environment wins. */
export function settings(): Config {
  dotenv.config({ quiet: true });
  return readConfig(process.env);
}

export async function withDatabase<T>(config: Config, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await connectDatabase(config.MONGO_URL);
  try {
    return await work(database);
  } finally {
    await database.connection.close();
  }
}

export async function withTemporal<T>(config: Config, work: (temporal: Temporal) => Promise<T>): Promise<T> {
  routeTemporalLogs(createLogger('silent'));
  const temporal = await connectTemporal(config);
  try {
    return await work(temporal);
  } finally {
    await temporal.connection.close();
  }
}

/** A Kafka client that logs nothing: verbs say themselves what went wrong. */
export function quietKafka(config: Config): Kafka {
  return openKafka(kafkaSettings(config), createLogger('silent'));
}

/** Prints a line. Text from outside went through {@link visible} before, or is JSON. */
export function print(line: string): void {
  process.stdout.write(`${escapeInvisible(line)}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

/** Rows under a head, columns as wide as needed. Text of events is shown with control characters made visible. */
export function printTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  rightAligned: readonly number[] = [],
): void {
  const shown = [head, ...rows].map((row) => row.map(visible));
  const widths = head.map((_, column) => Math.max(...shown.map((row) => [...(row[column] ?? '')].length)));
  for (const row of shown) {
    const cells = row.map((cell, column) => {
      const space = ' '.repeat(widths[column]! - [...cell].length);
      return rightAligned.includes(column) ? space + cell : cell + space;
    });
    print(cells.join('  ').trimEnd());
  }
}
