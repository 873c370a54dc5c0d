/** Colours and progress are for a person in front of a terminal; a pipe or a log file gets plain lines. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import Big from 'big.js';
import { toDecimal128 } from '../activities/decimals';
import { order } from './commandsFor';
import { databaseUrl, freshDatabase, type TestDatabase } from './database';
import { createDesk } from './desk';

const url = databaseUrl();
let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase(url);
  await database.stock('A', '10');
  await createDesk(database).deliver(order('1', { A: '-1' }));
  await database.tracking.updateMany({}, { $set: { recordedAt: new Date('2020-01-01T00:00:00Z') } });
  await database.stocks.updateOne({ _id: 'A' }, { $inc: { onHand: toDecimal128(new Big(3)) } });
});
afterAll(() => database.drop());

const CLI = [process.execPath, join(__dirname, '..', 'dist', 'cli.js')];

/** Output and exit code, on a real pseudo-terminal (of util-linux `script`) or into a pipe. */
async function inventory(args: string[], on: 'terminal' | 'pipe', env: Record<string, string> = {}) {
  const words = [...CLI, ...args];
  const [program, given] =
    on === 'pipe'
      ? [words[0]!, words.slice(1)]
      : ['script', ['-qec', words.map((w) => `'${w}'`).join(' '), '/dev/null']];
  const child = spawn(program, given, {
    env: { ...process.env, MONGO_URL: url, TERM: 'xterm', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, out };
}

const plainly = (text: string) => text.replace(/\u001b\[\d+m/g, '').replaceAll('\r\n', '\n');

test('colours on a terminal only, and not there either with NO_COLOR', async () => {
  const terminal = await inventory(['audit'], 'terminal');
  expect(terminal.code).toBe(1);
  expect(terminal.out).toContain('\u001b[31mon-hand drift\u001b[0m: A');
  const pipe = await inventory(['audit'], 'pipe');
  expect(pipe.code).toBe(1);
  expect(pipe.out).not.toMatch(/[\u001b\r]/);
  for (const line of pipe.out.split('\n')) expect(plainly(terminal.out)).toContain(line);
  const uncoloured = await inventory(['audit'], 'terminal', { NO_COLOR: '1' });
  expect(uncoloured.out).not.toContain('\u001b');
});

test('progress on a terminal only, and wiped when the verb ends', async () => {
  const archive = ['archive', '--before', '2021-01-01T00:00:00Z'];
  const terminal = await inventory(archive, 'terminal');
  expect(terminal.out).toMatch(/\rarchive .*1 moved/);
  expect(terminal.out.slice(terminal.out.lastIndexOf('moved\r'))).toContain('openings moved on: 1');
  const pipe = await inventory(archive, 'pipe');
  expect([terminal.code, pipe.code]).toEqual([0, 0]);
  expect(pipe.out).toBe(
    [
      '0 documents, 0 entries moved; the archive holds 1',
      'openings moved on: 0 stocks',
      'kept: 0 younger, 0 that wait for a person, 0 odd ones',
      '',
    ].join('\n'),
  );
});
