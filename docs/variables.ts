/** What each variable means, for `docs/reference.md`. A variable without a line here does not compile. */
import type { Variables } from '../config';

export const VARIABLE_MEANINGS = {
  KAFKA_BROKERS: 'brokers, comma-separated',
  KAFKA_CLIENT_ID: 'how brokers name this program in their logs and quotas',
  KAFKA_GROUP_ID: 'the consumer group of the bridges; another one starts from `KAFKA_START_FROM`',
  KAFKA_START_FROM:
    '`earliest`, `latest`, an ISO 8601 time with a zone, or epoch milliseconds: needed once, for a group that never committed on topics that hold records',
  KAFKA_SSL: 'TLS to Kafka',
  KAFKA_SSL_CA_FILE: 'certificates of the authority, PEM; left out, those that Node trusts',
  KAFKA_SSL_CERT_FILE: "the client's certificate, PEM; with the key",
  KAFKA_SSL_KEY_FILE: "the client's key, PEM; with the certificate",
  KAFKA_SASL_MECHANISM: 'how this program says who it is; with user and password',
  KAFKA_SASL_USERNAME: 'user',
  KAFKA_SASL_PASSWORD: 'password',
  KAFKA_TOPIC_PAYMENT_SUCCESS: 'topic of paid orders',
  KAFKA_TOPIC_KITCHEN_TICKET_ITEM_STATUS_CHANGED: 'topic of kitchen items',
  KAFKA_TOPIC_MATERIAL_TRANSFERRED: 'topic of transfers',
  KAFKA_TOPIC_PURCHASE_ORDER_RECEIVED: 'topic of receipts',
  KAFKA_TOPIC_MERCHANT: "topic of the merchants' changes (Debezium)",
  KAFKA_TOPIC_PRODUCT_VARIANT: "topic of the variants' changes (Debezium)",
  KAFKA_TOPIC_DEAD_LETTERS: 'topic to which messages at fault are written',
  KITCHEN_CONSUMING_STATUSES: 'statuses in which a kitchen item takes its materials; compared exactly',
  EVENT_MAX_BYTES: 'a larger key or value is a dead letter, unread',
  START_CONCURRENCY: 'starts in flight, over all partitions of a bridge',
  SINGLE_STARTS_PER_SECOND: 'above this rate, or while many are under way, commands go in groups; 0: always',
  GROUP_MAX: 'most commands in one group; 1: nothing is grouped, and nothing held back in Kafka',
  GROUP_LINGER_MS: 'how long a group waits to fill',
  MONGO_URL: 'a replica set or sharded cluster, with the database in the path',
  TEMPORAL_TASK_QUEUE: 'where bridges and workers of one deployment meet',
  TEMPORAL_DEPLOYMENT_NAME:
    'worker versioning: the deployment this process belongs to; with the next one, or neither',
  TEMPORAL_WORKER_BUILD_ID:
    'worker versioning: the version of this process; it gets work once that is the current one of its deployment ([deploy](deploy.md#upgrade))',
  PAYLOAD_KEYS_FILE:
    'keys that encrypt what Temporal keeps of commands and results ([encryption](encryption.md)); unset, it is plain text',
  CODEC_SERVER_TOKEN:
    'what the codec server asks for as `Authorization: Bearer …`; at least 16 characters; unset, it asks for nothing',
  TEMPORAL_UI_URL: 'address of the Web UI, for the links that verbs print',
  BELOW_ZERO_REFUSE:
    'reference types, comma-separated, that are refused rather than take a stock below zero: `SALE_ORDER`, `PURCHASE_ORDER`, `KITCHEN_TICKET_ITEM`, `MATERIAL_TRANSFER`, `ADJUSTMENT`',
  UNKNOWN_STOCK_WAIT: 'how long a command waits for its stock before it is parked',
  PARK_DEADLINE: 'when an undecided command is refused',
  OTEL_TRACES_EXPORTER:
    'where traces go: `otlp` to a collector, `console` to standard output; OpenTelemetry’s own `OTEL_…` variables say the rest (endpoint, sampler, service name), and `OTEL_SDK_DISABLED=true` turns it off',
  HTTP_HOST:
    'address on which `/metrics`, `/healthz` and `/readyz` are served; anything but loopback shows them to whoever reaches it, `0.0.0.0` in a container',
  HTTP_PORT: 'port for them; 0 takes any free one (the log says which), `off` serves nothing',
  SDK_METRICS_PORT: "port, on `HTTP_HOST`, for the metrics of Temporal's SDK (`temporal_…`)",
  LOG_LEVEL: 'see [Logs](#logs)',
} as const satisfies Record<keyof Variables, string>;

/** Read by Temporal's own `@temporalio/envconfig`, which also reads a configuration file. */
export const TEMPORAL_VARIABLES: readonly [name: string, fallback: string, meaning: string][] = [
  ['TEMPORAL_ADDRESS', '127.0.0.1:7233', 'host and port of the frontend'],
  ['TEMPORAL_NAMESPACE', 'default', 'namespace'],
  ['TEMPORAL_API_KEY', '', 'API key; turns TLS on'],
  ['TEMPORAL_TLS', '', '`true` or `false`: TLS without a certificate of its own'],
  ['TEMPORAL_TLS_CLIENT_CERT_PATH', '', "file with the client's certificate, or `…_DATA` with its text"],
  ['TEMPORAL_TLS_CLIENT_KEY_PATH', '', "file with the client's key, or `…_DATA`"],
  ['TEMPORAL_TLS_SERVER_CA_CERT_PATH', '', 'file with the certificates of the authority, or `…_DATA`'],
  ['TEMPORAL_TLS_SERVER_NAME', '', 'name that the server must prove, where it is not that of the address'],
  ['TEMPORAL_TLS_DISABLE_HOST_VERIFICATION', '', 'for tests only'],
  ['TEMPORAL_CONFIG_FILE', '', 'another configuration file than the one of the user'],
  ['TEMPORAL_PROFILE', 'default', 'section of the configuration file'],
  ['TEMPORAL_GRPC_META_…', '', 'a header for every call, e.g. `TEMPORAL_GRPC_META_TEAM`'],
];
