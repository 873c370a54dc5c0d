/** One logger for everything: JSON lines, or readable text on a terminal. Payloads are never logged. */
import pino from 'pino';
import { prettyFactory } from 'pino-pretty';
import { escapeInvisible, visible } from './visible';

export type Logger = pino.Logger;

/**
 * @param level pino's level names: `error` needs a person, `warn` is retried by itself or waits for a decision,
 * `info` tells the life of the process, `debug` has a line for each command and the values of a refused event.
 * @param out where lines go: `terminal` for people, `json` for everything else
 * @param write takes the text; standard error unless a test reads it
 */
export function createLogger(
  level: string = process.env['LOG_LEVEL'] ?? 'info',
  out: 'terminal' | 'json' = process.stderr.isTTY ? 'terminal' : 'json',
  write?: (text: string) => void,
): Logger {
  const options = { level, base: { pid: process.pid }, serializers: { err: withoutDocuments } };
  if (out === 'terminal') {
    const pretty = prettyFactory({ colorize: write === undefined, ignore: 'pid' });
    const show = write ?? ((text) => void process.stderr.write(text));
    return pino(options, { write: (line) => show(pretty(JSON.parse(line, obeyed) as object)) });
  }
  return pino(
    { ...options, hooks: { streamWrite: escapeInvisible } },
    write ? { write } : pino.destination({ dest: 2, sync: false }),
  );
}

/**
 * An error as its kind, texts and code. Whatever else a driver hangs on it may hold what was sent: MongoDB's carry
 * whole documents.
 */
function withoutDocuments(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { type, message, stack } = pino.stdSerializers.err(error);
  const { code } = error as { code?: unknown };
  const isCode = typeof code === 'string' || typeof code === 'number';
  return { type, message, stack, ...(isCode ? { code } : {}) };
}

/** For a terminal nothing of a text is obeyed, and one line stays one line; a stack keeps its own. */
function obeyed(key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  return key === 'stack' ? value.split('\n').map(visible).join('\n') : visible(value);
}
