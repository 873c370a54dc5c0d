/** The proof under faults, in short: the same program as `npm run chaos`, with the faults that take least time. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { ended } from './output';

const FAULTS = ['crash-after-commit', 'kill-mongo', 'lose-commit-answers'];

test('under faults nothing is lost, doubled or half done, and every fault has hit', async () => {
  const program = path.join(__dirname, '..', 'dist', 'test', 'chaos', 'main.js');
  const args = [program, '--seed', '6', '--minutes', '0', '--fault', FAULTS.join(',')];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const { code, out: table, err: told } = await ended(child);
  // Shown when it fails.
  expect([code, code === 0 ? '' : `${told}\n${table}`]).toEqual([0, '']);
  for (const fault of FAULTS) expect(table).toMatch(new RegExp(`\\| \`${fault}\` \\|.*\\| 1 \\| 1 \\|`));
  expect(table).toMatch(/\| \d{2,} \| 0 \| 0 \| 0 \| \d+ \| \d+ \|/);
}, 900_000);
