import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';

/** How a program ended. */
export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** Collects what a program says, to its end. */
export async function ended(child: ChildProcessByStdio<null, Readable, Readable>): Promise<Ended> {
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, out, err };
}
