/** Settings of bridge and worker, read once at start from the environment. */
import { loadClientConnectConfig, type ClientConnectConfig } from '@temporalio/envconfig';
import { z } from 'zod';
import ms from 'ms';
import { parsePayloadKeys } from './codec';
import { REFERENCE_TYPES, type ReferenceType } from './commands';
import { DEFAULT_PARK_DEADLINE_MS, DEFAULT_UNKNOWN_STOCK_WAIT_MS } from './decisions';
import { readFile, SETTING_MAX_BYTES } from './files';

/** A setting that cannot be used. The message names the variable, its value and what is accepted. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

const text = z.string().min(1);
const integer = (least: number, most: number) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.number().min(least).max(most));
const flag = z.enum(['true', 'false']).transform((value) => value === 'true');
const list = text.transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
/** A time such as `90s`, `24h` or `30d`, in milliseconds. */
const duration = (least: ms.StringValue, most: ms.StringValue) =>
  z
    .string()
    .regex(/^\d+(\.\d+)?(ms|s|m|h|d)$/, 'must be a time such as 90s, 24h or 30d')
    .transform((value) => ms(value as ms.StringValue))
    .pipe(z.number().min(ms(least), `must be at least ${least}`).max(ms(most), `must be at most ${most}`));
/** A port to listen on, or `off`. */
const port = (least: number) =>
  z
    .string()
    .refine((value) => value === 'off' || (/^\d{1,5}$/.test(value) && +value >= least && +value <= 65_535), {
      message: `must be a port from ${least} to 65535, or off`,
    })
    .transform((value): number | 'off' => (value === 'off' ? 'off' : Number(value)));
const startFrom = z
  .string()
  .refine((value) => ['earliest', 'latest'].includes(value) || !Number.isNaN(parseTime(value)), {
    message: 'must be earliest, latest, an ISO 8601 time with a zone, or epoch milliseconds',
  });
const file = text.transform((path, context) => {
  try {
    return readFile(path, SETTING_MAX_BYTES).toString();
  } catch (error) {
    context.addIssue({ code: 'custom', message: `cannot be read: ${(error as Error).message}` });
    return z.NEVER;
  }
});

const payloadKeys = file.transform((content, context) => {
  try {
    return parsePayloadKeys(content);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
    return z.NEVER;
  }
});

/** Every variable, with its default. What is not here is not read (Temporal's own variables aside). */
export const variables = z.object({
  KAFKA_BROKERS: list.default(['127.0.0.1:9092']),
  KAFKA_CLIENT_ID: text.default('inventory'),
  KAFKA_GROUP_ID: text.default('inventory'),
  KAFKA_START_FROM: startFrom.optional(),
  KAFKA_SSL: flag.default(false),
  KAFKA_SSL_CA_FILE: file.optional(),
  KAFKA_SSL_CERT_FILE: file.optional(),
  KAFKA_SSL_KEY_FILE: file.optional(),
  KAFKA_SASL_MECHANISM: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).optional(),
  KAFKA_SASL_USERNAME: text.optional(),
  KAFKA_SASL_PASSWORD: text.optional(),
  KAFKA_TOPIC_PAYMENT_SUCCESS: text.default('PAYMENT_SUCCESS'),
  KAFKA_TOPIC_KITCHEN_TICKET_ITEM_STATUS_CHANGED: text.default('KITCHEN_TICKET_ITEM_STATUS_CHANGED'),
  KAFKA_TOPIC_MATERIAL_TRANSFERRED: text.default('MATERIAL_TRANSFERRED'),
  KAFKA_TOPIC_PURCHASE_ORDER_RECEIVED: text.default('PURCHASE_ORDER_RECEIVED'),
  KAFKA_TOPIC_MERCHANT: text.default('cdc.Merchant'),
  KAFKA_TOPIC_PRODUCT_VARIANT: text.default('cdc.ProductVariant'),
  KAFKA_TOPIC_DEAD_LETTERS: text.default('inventory.dead-letters'),
  KITCHEN_CONSUMING_STATUSES: list.default(['PREPARING', 'READY', 'SERVED']),
  EVENT_MAX_BYTES: integer(1_000, 1_000_000).default(262_144),
  START_CONCURRENCY: integer(1, 1_000).default(50),
  // On two cores that everything shares, about 36 workflows of one command each are the most in a second
  // (docs/benchmark.md). Where not even these 30 can be had, starts pile up, and then groups begin whatever the rate.
  SINGLE_STARTS_PER_SECOND: integer(0, 100_000).default(30),
  GROUP_MAX: integer(1, 2_000).default(2_000),
  GROUP_LINGER_MS: integer(0, 1_000).default(20),
  MONGO_URL: z
    .string()
    .regex(/^mongodb(\+srv)?:\/\/[^/]+\/[^/?]/, 'must look like mongodb://host:27017/DATABASE?replicaSet=rs0')
    .default('mongodb://127.0.0.1:27017/inventory?replicaSet=rs0'),
  TEMPORAL_TASK_QUEUE: text.default('inventory'),
  // Under the names that Temporal's Kubernetes controller for workers sets.
  TEMPORAL_DEPLOYMENT_NAME: text.regex(/^[^.:]*$/, 'must be without . and :').optional(),
  TEMPORAL_WORKER_BUILD_ID: text.regex(/^[^:]*$/, 'must be without :').optional(),
  PAYLOAD_KEYS_FILE: payloadKeys.optional(),
  // Short enough to guess is no token.
  CODEC_SERVER_TOKEN: z.string().min(16, 'must have at least 16 characters').optional(),
  TEMPORAL_UI_URL: z.url().default('http://127.0.0.1:8233'),
  BELOW_ZERO_REFUSE: list
    .pipe(z.array(z.enum(REFERENCE_TYPES)))
    .default([])
    .transform((types): ReadonlySet<ReferenceType> => new Set(types)),
  UNKNOWN_STOCK_WAIT: duration('1s', '365d').default(DEFAULT_UNKNOWN_STOCK_WAIT_MS),
  PARK_DEADLINE: duration('1s', '3650d').default(DEFAULT_PARK_DEADLINE_MS),
  // Read by instrument.ts, before settings are; OpenTelemetry's own default would be otlp.
  OTEL_TRACES_EXPORTER: z.enum(['none', 'otlp', 'console']).default('none'),
  HTTP_HOST: text.default('127.0.0.1'),
  HTTP_PORT: port(0).default(9464),
  SDK_METRICS_PORT: port(1).default('off'),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

export type Variables = z.output<typeof variables>;

export interface Config extends Variables {
  temporal: ClientConnectConfig & { namespace: string };
}

export const DURATIONS: ReadonlySet<string> = new Set(['UNKNOWN_STOCK_WAIT', 'PARK_DEADLINE']);
const SECRETS = new Set([
  'KAFKA_SASL_PASSWORD',
  'KAFKA_SSL_KEY_FILE',
  'TEMPORAL_API_KEY',
  'CODEC_SERVER_TOKEN',
]);

/**
 * Reads and checks all settings. Temporal's address, namespace, TLS and API key come from its standard variables
 * and configuration file, see `@temporalio/envconfig`.
 * @throws ConfigError naming every variable that cannot be used
 */
export function readConfig(env: Record<string, string | undefined>): Config {
  // An empty variable is one that somebody meant to leave out.
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (value) given[name] = value;
  const parsed = variables.safeParse(given);
  const faults = parsed.success
    ? impossible(parsed.data)
    : parsed.error.issues.map((issue) => {
        const name = String(issue.path[0]);
        const shown = SECRETS.has(name) ? 'the given value' : JSON.stringify(given[name]);
        return `${name}: ${shown} ${issue.message}`;
      });
  if (!parsed.success || faults.length > 0) throw new ConfigError(faults.join('\n'));
  return { ...parsed.data, temporal: readTemporal(given) };
}

function readTemporal(env: Record<string, string>): Config['temporal'] {
  try {
    const { connectionOptions, namespace } = loadClientConnectConfig({ overrideEnvVars: env });
    return {
      connectionOptions: { ...connectionOptions, address: connectionOptions.address ?? '127.0.0.1:7233' },
      namespace: namespace ?? 'default',
    };
  } catch (error) {
    throw new ConfigError(`Temporal's settings (TEMPORAL_*): ${(error as Error).message}`, { cause: error });
  }
}

/** Pairs of settings that contradict each other. */
function impossible(v: Variables): string[] {
  const faults: string[] = [];
  const sasl = [v.KAFKA_SASL_MECHANISM, v.KAFKA_SASL_USERNAME, v.KAFKA_SASL_PASSWORD];
  if (sasl.some(Boolean) && !sasl.every(Boolean)) {
    faults.push(
      'KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD go together: set all or none',
    );
  }
  if (Boolean(v.KAFKA_SSL_CERT_FILE) !== Boolean(v.KAFKA_SSL_KEY_FILE)) {
    faults.push('KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE go together: set both or none');
  }
  if (!v.KAFKA_SSL && (v.KAFKA_SSL_CA_FILE || v.KAFKA_SSL_CERT_FILE)) {
    faults.push('KAFKA_SSL_CA_FILE and KAFKA_SSL_CERT_FILE have no effect without KAFKA_SSL=true');
  }
  if (Boolean(v.TEMPORAL_DEPLOYMENT_NAME) !== Boolean(v.TEMPORAL_WORKER_BUILD_ID)) {
    faults.push('TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID go together: set both or none');
  }
  if (v.HTTP_PORT !== 'off' && v.HTTP_PORT === v.SDK_METRICS_PORT) {
    faults.push(`HTTP_PORT and SDK_METRICS_PORT are both ${v.HTTP_PORT}; each needs its own port`);
  }
  const topics = Object.entries(v).filter(([name]) => name.startsWith('KAFKA_TOPIC_'));
  for (const [name, topic] of topics) {
    const twin = topics.find(([other, value]) => other > name && value === topic);
    if (twin)
      faults.push(`${name} and ${twin[0]} name the same topic ${JSON.stringify(topic)}; each needs its own`);
  }
  return faults;
}

/** Milliseconds of an ISO 8601 time with a zone, or of epoch-millisecond text; NaN otherwise. */
export function parseTime(value: string): number {
  if (/^\d{10,16}$/.test(value)) return Number(value);
  return /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(value) ? Date.parse(value) : NaN;
}

/** Effective settings as lines `NAME=value`, secrets masked, for people to read. */
export function describeConfig(config: Config): string {
  const { temporal, ...rest } = config;
  const lines = Object.entries(rest).map(([name, value]) => `${name}=${show(name, value)}`);
  const { address, tls, apiKey } = temporal.connectionOptions;
  lines.push(
    `TEMPORAL_ADDRESS=${address}`,
    `TEMPORAL_NAMESPACE=${temporal.namespace}`,
    `TEMPORAL_TLS=${tls ? 'true' : 'false'}`,
    `TEMPORAL_API_KEY=${apiKey ? '********' : ''}`,
  );
  return lines.sort().join('\n');
}

function show(name: string, value: unknown): string {
  if (value === undefined) return '';
  if (SECRETS.has(name)) return '********';
  if (name.endsWith('_FILE')) return '(read)';
  if (DURATIONS.has(name)) return ms(value as number);
  if (value instanceof Set) return [...value].join(',');
  if (Array.isArray(value)) return value.join(',');
  // user:password@ in a URL, and what else is secret among its options
  return `${value as string | number | boolean}`
    .replace(/\/\/([^:/@]*):[^@/]*@/, '//$1:********@')
    .replace(/(password=|token:)[^&,]*/gi, '$1********');
}
