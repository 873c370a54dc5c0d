/** Which ports the servers use. */
import { createServer } from 'node:net';

import { StackError } from './problems';

export interface Ports {
  kafka: number;
  kafkaController: number;
  mongo: number;
  temporal: number;
  temporalUi: number;
}

/** The ports that everybody expects. */
export const FIXED_PORTS: Ports = {
  kafka: 9092,
  kafkaController: 9093,
  mongo: 27017,
  temporal: 7233,
  temporalUi: 8233,
};

/** Below the range from which the system takes ports for outgoing connections (on Linux 32768 and up). */
const LOWEST = 15_000;
const HIGHEST = 32_000;

/** Ports handed out before, whose servers may not be listening yet. */
const handedOut = new Set<number>();

/** Ports that are free now. Another program may still take one before the server does: then start again. */
export async function freePorts(): Promise<Ports> {
  return {
    kafka: await freePort(),
    kafkaController: await freePort(),
    mongo: await freePort(),
    temporal: await freePort(),
    temporalUi: await freePort(),
  };
}

/** @throws StackError that names every port of `wanted` that another program listens on. */
export async function checkFree(wanted: number[]): Promise<void> {
  const taken: number[] = [];
  for (const port of wanted) if (!(await isFree(port))) taken.push(port);
  if (taken.length === 0) return;
  const ports = taken.length === 1 ? `Port ${taken[0]} is` : `Ports ${taken.join(', ')} are`;
  throw new StackError(
    `${ports} taken by another program: stop it (lsof -i :${taken[0]} names it), ` +
      'or use other ports with npm run stack -- --free-ports.',
  );
}

async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (handedOut.has(port) || !(await isFree(port))) continue;
    handedOut.add(port);
    return port;
  }
}

/** Whether a server could listen on this port of 127.0.0.1 now. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
