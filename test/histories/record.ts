/**
 * `npm run histories`: records the history of each path through the workflows, from a real run on real servers.
 * Histories that are there already stay as they are: they stand for workflows that run somewhere, and the tests
 * replay them against today's code. A changed workflow needs a path under a new name, never a history recorded anew.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PATHS } from './paths';
import { toJson } from './replay';
import { withScene } from './scene';

/** From sources and from dist/ alike: `npm` runs scripts in the folder of package.json. */
const FOLDER = join('test', 'histories');
const LEFT_OUT = new Set(['identity', 'requestId', 'stackTrace']);

async function main(names: string[]): Promise<void> {
  const missing = Object.keys(PATHS).filter((name) => !existsSync(fileOf(name)));
  const wanted = names.length > 0 ? names : missing;
  const unknown = wanted.filter((name) => !PATHS[name]);
  if (unknown.length > 0) throw new Error(`${unknown.join(', ')}: no such path in test/histories/paths.ts`);
  if (wanted.length === 0) return console.error('every path has its history');
  await withScene(async (scene) => {
    for (const name of wanted) {
      const handle = await PATHS[name]!(scene, name);
      const history = toJson(await handle.fetchHistory());
      const json = JSON.stringify({ workflowId: handle.workflowId, history }, forEveryone);
      writeFileSync(fileOf(name), `${json}\n`);
      console.error(`${name}: ${json.length} bytes`);
    }
  });
}

/** Who ran it and where, which also names a worker's own task queue, does not belong to a path. */
function forEveryone(key: string, value: unknown): unknown {
  if (LEFT_OUT.has(key)) return undefined;
  return typeof value === 'string' && /^\d+@/.test(value) ? 'sticky' : value;
}

function fileOf(name: string): string {
  return join(FOLDER, `${name}.json`);
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
