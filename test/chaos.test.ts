/** The proof under faults, in short: the same program as `npm run chaos`, with the faults that take least time. */
import { spawn } from 'node:child_process';
import path from 'node:path';

const FAULTS = ['crash-after-commit', 'kill-mongo', 'lose-commit-answers'];

test('under faults nothing is lost, doubled or half done, and every fault has hit', async () => {
  const program = path.join(__dirname, '..', 'dist', 'test', 'chaos', 'main.js');
  const args = [program, '--seed', '6', '--minutes', '0', '--fault', FAULTS.join(',')];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let table = '';
  let told = '';
  child.stdout.on('data', (chunk: Buffer) => (table += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (told += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  // Shown when it fails.
  expect([code, code === 0 ? '' : `${told}\n${table}`]).toEqual([0, '']);
  for (const fault of FAULTS) expect(table).toMatch(new RegExp(`\\| \`${fault}\` \\|.*\\| 1 \\| 1 \\|`));
  expect(table).toMatch(/\| \d{2,} \| 0 \| 0 \| 0 \| \d+ \| \d+ \|/);
}, 900_000);
