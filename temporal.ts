/** Connection to Temporal, and what it must have before work begins. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime } from '@temporalio/worker';
import { referenceIn, SEARCH_ATTRIBUTES } from './commands';
import { ConfigError, type Config } from './config';
import type { Logger } from './log';
import type { Tracing } from './tracing';

/** Numbers of `temporal.api.enums.v1.IndexedValueType`. */
const KEYWORD = 2;
const KEYWORD_LIST = 7;

/** The search attributes with their types, as the server's operator service takes them. */
export const SEARCH_ATTRIBUTE_TYPES: Record<string, number> = {
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

/**
 * Sends what the SDK logs through our logger, and serves its metrics where the settings say so. Once per process,
 * before anything connects.
 * @throws ConfigError when the metrics cannot be served there
 */
export function routeTemporalLogs(
  logger: Logger,
  metrics?: Pick<Config, 'HTTP_HOST' | 'SDK_METRICS_PORT'>,
): void {
  const levels = { TRACE: 'trace', DEBUG: 'debug', INFO: 'debug', WARN: 'warn', ERROR: 'error' } as const;
  const bindAddress = sdkMetricsAddress(metrics);
  try {
    Runtime.install({
      logger: new DefaultLogger('INFO', ({ level, message, meta }) =>
        logger[levels[level]](aboutCommand(meta ?? {}), message),
      ),
      telemetryOptions: {
        logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
        ...(bindAddress === undefined ? {} : { metrics: { prometheus: { bindAddress } } }),
      },
      // The program decides itself what a signal means.
      shutdownSignals: [],
    });
  } catch (error) {
    if (bindAddress === undefined) throw error;
    throw new ConfigError(
      `SDK_METRICS_PORT: ${bindAddress} cannot be used (${(error as Error).message}); set another port, or off`,
      { cause: error },
    );
  }
}

function sdkMetricsAddress(
  settings: Pick<Config, 'HTTP_HOST' | 'SDK_METRICS_PORT'> | undefined,
): string | undefined {
  if (settings === undefined || settings.SDK_METRICS_PORT === 'off') return undefined;
  const { HTTP_HOST: host, SDK_METRICS_PORT: port } = settings;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The SDK calls an error `error`, and knows a workflow only by its ID. */
function aboutCommand({ error, ...meta }: Record<string, unknown>): Record<string, unknown> {
  const reference = typeof meta['workflowId'] === 'string' ? referenceIn(meta['workflowId']) : undefined;
  return {
    ...(reference === undefined ? {} : { reference }),
    ...meta,
    ...(error === undefined ? {} : { err: error }),
  };
}

/** @throws TemporalCheckError when Temporal does not answer */
export async function connectTemporal(
  { temporal }: Pick<Config, 'temporal'>,
  tracing?: Tracing,
): Promise<Temporal> {
  const { address } = temporal.connectionOptions;
  const connection = await NativeConnection.connect(temporal.connectionOptions).catch((error: unknown) => {
    throw new TemporalCheckError(
      `Temporal at ${address} does not answer; check TEMPORAL_ADDRESS and that the server runs`,
      { cause: error },
    );
  });
  return {
    connection,
    client: new Client({
      connection,
      namespace: temporal.namespace,
      ...(tracing ? { interceptors: { workflow: tracing.client } } : {}),
    }),
    namespace: temporal.namespace,
  };
}

/** Registers missing search attributes and waits until they can be used; safe to repeat. */
export async function setupTemporal({ connection, namespace }: Temporal): Promise<void> {
  const missing = await missingAttributes({ connection, namespace });
  if (missing.length === 0) return;
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(missing.map((name) => [name, SEARCH_ATTRIBUTE_TYPES[name]!])),
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

/** TASK_QUEUE_TYPE_WORKFLOW of `temporal.api.enums.v1.TaskQueueType`. */
const WORKFLOW_TASKS = 1;

/** A small question that frontend and matching answer together, as they do for the work itself. */
export async function pollTemporal({ client, namespace }: Temporal, taskQueue: string): Promise<void> {
  await client.withDeadline(Date.now() + 4_000, () =>
    client.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: taskQueue },
      taskQueueType: WORKFLOW_TASKS,
    }),
  );
}

async function missingAttributes({ connection, namespace }: Omit<Temporal, 'client'>): Promise<string[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  return Object.entries(SEARCH_ATTRIBUTE_TYPES)
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
