/** Why Temporal could not be reached, in words that name the variable to look at. */

/** Texts of the SDK's core and its TLS, most specific first; what is in brackets is shown. */
const KNOWN: readonly (readonly [RegExp, string])[] = [
  [
    /InvalidCertificate\(UnknownIssuer/,
    'shows a certificate of an authority that this machine does not know: name its CA in TEMPORAL_TLS_SERVER_CA_CERT_PATH',
  ],
  [
    /NotValidForName/,
    'shows a certificate of another name: set TEMPORAL_TLS_SERVER_NAME to a name that stands in it',
  ],
  [/InvalidCertificate\((\w+)/, 'shows a certificate that cannot be used'],
  [
    /fatal alert: (\w+)/,
    'does not take our certificate: check TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH',
  ],
  [
    /InvalidMessage\((\w+)/,
    'does not speak TLS: check TEMPORAL_ADDRESS, or leave out TEMPORAL_TLS and TEMPORAL_API_KEY',
  ],
  [/valid authentication credentials/, 'does not take the API key: check TEMPORAL_API_KEY'],
  [
    /does not have permission/,
    'lets us in but not into the namespace: check TEMPORAL_NAMESPACE and the rights of TEMPORAL_API_KEY or of the certificate',
  ],
  [
    // Refused for lack of a certificate, a client may hear the reason (above) or only find the connection closed.
    /BrokenPipe|ConnectionReset|IncompleteMessage|UnexpectedEof|hyper::Error\(Canceled/,
    'closes the connection: does it ask for TLS (TEMPORAL_TLS=true), or for a certificate of ours (TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH)?',
  ],
];

/** The rest of a sentence that begins with the server. */
export function temporalFault(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  for (const [pattern, says] of KNOWN) {
    const found = pattern.exec(text);
    if (found) return found[1] === undefined ? says : `${says} (${found[1]})`;
  }
  return 'does not answer; check TEMPORAL_ADDRESS and that the server runs';
}
