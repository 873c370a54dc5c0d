/** Uses servers that run already, and starts only the ones that don't. */
import { resolve } from 'node:path';

import { usableEnv } from './running';
import type { ServerName, StackOptions } from './stack';
import { ALL_SERVERS, startStack } from './stack';

/** Where the servers are, and how to end what was started for this. */
export interface UsedStack {
  env: {
    KAFKA_BROKERS: string;
    MONGO_URL: string;
    TEMPORAL_ADDRESS: string;
    /** Unknown for servers that were named by variables, unless it is named too. */
    TEMPORAL_UI_URL?: string;
  };
  /** The servers that were started here; the others go on after {@link UsedStack.stop}. */
  started: ServerName[];
  stop(): Promise<void>;
}

const VARIABLE = { kafka: 'KAFKA_BROKERS', mongo: 'MONGO_URL', temporal: 'TEMPORAL_ADDRESS' } as const;

/**
 * Servers named by `KAFKA_BROKERS`, `MONGO_URL` and `TEMPORAL_ADDRESS` are used; else the stack that already runs on
 * `dataDir`; and what is still missing is started. Says through `onProgress` which it is.
 * @param vars the variables, `process.env` if left out.
 */
export async function useOrStartStack(
  options: StackOptions,
  vars: NodeJS.ProcessEnv = process.env,
): Promise<UsedStack> {
  const say = options.onProgress ?? (() => {});
  const dataDir = resolve(options.dataDir);
  const env: Record<string, string> = {};
  if (vars['TEMPORAL_UI_URL']) env['TEMPORAL_UI_URL'] = vars['TEMPORAL_UI_URL'];
  for (const name of ALL_SERVERS) {
    const value = vars[VARIABLE[name]];
    if (!value) continue;
    env[VARIABLE[name]] = value;
    say(`using ${name} at ${withoutSecrets(value)}, named by ${VARIABLE[name]}`);
  }
  const missing = () => ALL_SERVERS.filter((name) => !env[VARIABLE[name]]);
  const running = missing().length > 0 ? usableEnv(dataDir) : undefined;
  if (running) {
    say(`using the stack that already runs on ${dataDir}`);
    Object.assign(env, { ...running, ...env });
  }
  const started = missing();
  const stack = started.length > 0 ? await startStack({ ...options, servers: started }) : undefined;
  return {
    env: { ...env, ...stack?.env } as UsedStack['env'],
    started,
    stop: async () => stack?.stop(),
  };
}

/** User and password of an address stay out of what is printed. */
function withoutSecrets(address: string): string {
  return address.replace(/\/\/[^/]*@/, '//***@');
}
