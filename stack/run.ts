/** Runs a program to its end. */
import { spawn } from 'node:child_process';

import { StackError } from './problems';

export interface RunOptions {
  env: NodeJS.ProcessEnv;
  onOutput?: (text: string) => void;
  /** Makes the sentence of the error from the last lines of what the program wrote. */
  failure: (lastLines: string) => string;
}

/**
 * @returns what the program wrote to both of its outputs.
 * @throws StackError if it cannot be started or ends with another code than 0.
 */
export async function run(program: string, args: string[], options: RunOptions): Promise<string> {
  const child = spawn(program, args, { env: options.env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const read = (chunk: Buffer) => {
    output += chunk.toString();
    options.onOutput?.(chunk.toString());
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  const code = await new Promise<number | string>((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (exit, signal) => resolve(exit ?? signal ?? 'unknown'));
  });
  if (code === 0) return output;
  const lines = output.trim().split('\n').slice(-3).join(' ').trim();
  throw new StackError(options.failure(lines === '' ? `ended with ${code}.` : lines));
}
