/** Connection to Temporal, and what it must have before work begins. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { SEARCH_ATTRIBUTES } from './commands';
import type { Config } from './config';

/** Numbers of `temporal.api.enums.v1.IndexedValueType`. */
const KEYWORD = 2;
const KEYWORD_LIST = 7;

const ATTRIBUTES: Record<string, number> = {
  [SEARCH_ATTRIBUTES.reference]: KEYWORD,
  [SEARCH_ATTRIBUTES.referenceType]: KEYWORD,
  [SEARCH_ATTRIBUTES.stocks]: KEYWORD_LIST,
  [SEARCH_ATTRIBUTES.outcome]: KEYWORD,
};

/** A requirement that does not hold; the message ends with the remedy. */
export class TemporalCheckError extends Error {
  override readonly name = 'TemporalCheckError';
}

export interface Temporal {
  /** Shared by client and worker of one process: that is what makes an eager start possible. */
  connection: NativeConnection;
  client: Client;
  namespace: string;
}

/** @throws TransportError when Temporal does not answer */
export async function connectTemporal({ temporal }: Pick<Config, 'temporal'>): Promise<Temporal> {
  const connection = await NativeConnection.connect(temporal.connectionOptions);
  return {
    connection,
    client: new Client({ connection, namespace: temporal.namespace }),
    namespace: temporal.namespace,
  };
}

/** Registers missing search attributes and waits until they can be used; safe to repeat. */
export async function setupTemporal({ connection, namespace }: Temporal): Promise<void> {
  const missing = await missingAttributes({ connection, namespace });
  if (missing.length === 0) return;
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(missing.map((name) => [name, ATTRIBUTES[name]!])),
  });
  // Servers take a moment to hand a new attribute to all their parts; a start that names it would fail until then.
  for (let tries = 0; (await missingAttributes({ connection, namespace })).length > 0; tries++) {
    if (tries === 50)
      throw new TemporalCheckError(`search attributes ${missing.join(', ')} were not taken over in 10 s`);
    await sleep(200);
  }
}

/**
 * @returns what was found, one line
 * @throws TemporalCheckError
 */
export async function checkTemporal(temporal: Omit<Temporal, 'client'>): Promise<string> {
  const missing = await missingAttributes(temporal);
  if (missing.length > 0) {
    throw new TemporalCheckError(
      `search attributes ${missing.join(', ')} are missing in namespace ${temporal.namespace}: run \`inventory setup\``,
    );
  }
  return `Temporal namespace ${temporal.namespace}, search attributes registered`;
}

async function missingAttributes({ connection, namespace }: Omit<Temporal, 'client'>): Promise<string[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  return Object.entries(ATTRIBUTES)
    .filter(([name, type]) => {
      const found = customAttributes?.[name];
      if (found !== undefined && found !== null && Number(found) !== type) {
        throw new TemporalCheckError(
          `search attribute ${name} has another type in namespace ${namespace}: remove it there, then run \`inventory setup\``,
        );
      }
      return found === undefined || found === null;
    })
    .map(([name]) => name);
}
