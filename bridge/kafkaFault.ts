/** Why Kafka does not let this program in, in words that name the variable to look at. */

/** Kafka is there and refuses us as we are set up: trying again does not help. */
export class KafkaAccessError extends Error {
  override readonly name = 'KafkaAccessError';
}

/** Texts of the client, of Kafka and of TLS. */
const KNOWN: readonly (readonly [RegExp, string])[] = [
  [
    /authentication failed|invalid credentials|mechanism/i,
    'does not take user and password: check KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD',
  ],
  [
    /current SASL state/,
    'asks for no user and password there: check KAFKA_BROKERS, or leave out KAFKA_SASL_MECHANISM',
  ],
  [/altnames|does not match certificate/i, 'shows a certificate of another name than KAFKA_BROKERS has'],
  [
    /alert (bad certificate|certificate required|unknown ca|handshake failure)|certificate required/i,
    'does not take our certificate: check KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE',
  ],
  [
    /verify the first certificate|self-signed certificate|issuer certificate/i,
    'shows a certificate of an authority that this machine does not know: name its CA in KAFKA_SSL_CA_FILE',
  ],
  [/certificate has expired|certificate is not yet valid/i, 'shows a certificate that is not valid now'],
  [
    /before secure TLS connection|wrong version number/i,
    'does not speak TLS there: check KAFKA_BROKERS, or leave out KAFKA_SSL',
  ],
  [
    /not authorized|authorization failed/i,
    'does not give us a right that is needed: SECURITY.md lists them, as ACLs',
  ],
];

/** A broker has not heard yet of a topic, of its leader, or that it is the leader; soon it will have. */
export function isNotKnownYet(error: unknown): boolean {
  const { type, cause } = error as { type?: string; cause?: unknown };
  if (type !== undefined) return NOT_KNOWN_YET.includes(type);
  // The client wraps what it has tried several times.
  return cause instanceof Error && isNotKnownYet(cause);
}

const NOT_KNOWN_YET = ['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE', 'NOT_LEADER_FOR_PARTITION'];

/** The error with the variable in its text where it is known, itself otherwise. */
export function kafkaFault(error: unknown): Error {
  const text = textOf(error);
  const known = KNOWN.find(([pattern]) => pattern.test(text));
  if (known) return new KafkaAccessError(`Kafka ${known[1]} (${text})`, { cause: error });
  if (/closed connection|ECONNRESET|EPIPE/i.test(text)) {
    // A server that goes down does the same, so this is no word against the settings.
    const ask =
      'does it ask for TLS (KAFKA_SSL), a user (KAFKA_SASL_MECHANISM) or a certificate (KAFKA_SSL_CERT_FILE)?';
    return new Error(`it closes the connection: ${ask}`, { cause: error });
  }
  return error instanceof Error ? error : new Error(text);
}

/** One line, with what each topic was refused for, without the place in OpenSSL's sources. */
function textOf(error: unknown): string {
  const { message, errors = [] } = error as { message?: string; errors?: Error[] };
  const text = [message ?? String(error), ...errors.map((each) => each.message)].join('; ');
  return text.trim().replace(/[0-9A-F]+:error:[0-9A-F]+:SSL routines:\w+:([^:]+):.*/s, '$1');
}
