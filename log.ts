/** One logger for everything: JSON lines, or readable text on a terminal. Payloads are never logged. */
import pino from 'pino';

export type Logger = pino.Logger;

/**
 * @param level pino's level names: `error` needs a person, `warn` is retried by itself, `info` tells the life of
 * the process, `debug` has a line for each command.
 */
export function createLogger(level: string = process.env['LOG_LEVEL'] ?? 'info'): Logger {
  const pretty = process.stderr.isTTY;
  return pino(
    { level, base: { pid: process.pid } },
    pretty
      ? pino.transport({ target: 'pino-pretty', options: { destination: 2, ignore: 'pid' } })
      : pino.destination({ dest: 2, sync: false }),
  );
}
