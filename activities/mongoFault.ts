/** Why MongoDB could not be used, in words that name the variable to look at. */

/** MongoDB's codes. */
const UNAUTHORIZED = 13;
const AUTHENTICATION_FAILED = 18;

/** @returns what to say of a failure to connect */
export function connectFault(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (codeOf(error) === AUTHENTICATION_FAILED) {
    return 'MongoDB does not take the user or the password of MONGO_URL (does authSource name the database of the user?)';
  }
  if (/certificate|altnames/i.test(text)) {
    return `MongoDB shows a certificate that is not trusted (${text}); check tlsCAFile and the host in MONGO_URL`;
  }
  if (/ENOENT|EACCES/.test(text)) return `a file that MONGO_URL names cannot be read (${text})`;
  if (/connection .* closed|ECONNRESET|alert/.test(text)) {
    return `MongoDB closes the connection (${text}): does it ask for TLS or a certificate? See tls and tlsCertificateKeyFile of MONGO_URL`;
  }
  return `MongoDB does not answer (${text}); check MONGO_URL and that the server runs`;
}

/** The user lacks a right. Trying again helps once somebody has granted it. */
export class RightsError extends Error {
  override readonly name = 'RightsError';
}

/** The error itself, unless a right is missing: the server then repeats the whole command, quantities and all. */
export function withoutCommand(error: unknown): unknown {
  if (codeOf(error) !== UNAUTHORIZED) return error;
  const { message } = error as Error;
  const command = /command \{ (\w+): (?:"([\w.]+)")?/.exec(message);
  const what = command ? `${command[1]}${command[2] ? ` on ${command[2]}` : ''}` : 'do this';
  return new RightsError(`the user of MONGO_URL may not ${what}: SECURITY.md lists the rights of each verb`);
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code;
}
