/** Replays the recorded histories; as a program it ends with 1 when a workflow that runs somewhere could not go on. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { createLogger } from '../../log';
import { routeTemporalLogs } from '../../temporal';

/** `npm` runs scripts and tests in the folder of package.json, whether this file is compiled or not. */
const FOLDER = join('test', 'histories');
export const BUNDLE = join('dist', 'workflow-bundle.js');

const { History } = temporal.api.history.v1;
type History = temporal.api.history.v1.IHistory;

/** As readable JSON: enums by name, large numbers as text, bytes in base64. */
export function toJson(history: History): object {
  const whole = History.fromObject(history);
  return History.toObject(whole, { longs: String, enums: String, bytes: String });
}

export interface Recorded {
  workflowId: string;
  history: { events: Record<string, unknown>[] };
}

/** Recorded histories by the names of their paths. */
export function readHistories(): Map<string, Recorded> {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));
  return new Map(
    files.map((file) => [
      file.replace(/\.json$/, ''),
      JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Recorded,
    ]),
  );
}

/**
 * @param code a workflow bundle
 * @returns the paths that cannot be replayed, each with why
 */
export async function replay(code: string, histories: Map<string, Recorded>): Promise<Map<string, string>> {
  const failed = new Map<string, string>();
  // Workflow IDs repeat among the paths, so they are told apart by their place in the order.
  const names = [...histories.keys()];
  let next = 0;
  const read = [...histories.values()].map(({ workflowId, history }) => ({
    workflowId,
    history: History.fromObject(history),
  }));
  for await (const { error } of Worker.runReplayHistories({ workflowBundle: { code } }, read)) {
    const name = names[next++]!;
    if (error) failed.set(name, error.message);
  }
  if (next !== names.length) throw new Error(`${next} of ${names.length} histories were replayed`);
  return failed;
}

async function main(): Promise<void> {
  // What failed is said below, once.
  routeTemporalLogs(createLogger('silent'));
  const histories = readHistories();
  const failed = await replay(readFileSync(BUNDLE, 'utf8'), histories);
  for (const [name, why] of failed) console.error(`${name}: ${why}`);
  console.error(
    `${histories.size - failed.size} of ${histories.size} recorded workflows go on under this code`,
  );
  process.exitCode = failed.size === 0 && histories.size > 0 ? 0 : 1;
}

if (require.main === module) void main();
