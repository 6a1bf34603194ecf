/**
 * The TLS of a bench and its agents: version 1.2 with a pre-shared key, by which each side proves to the other that it knows the secret (RFC 4279),
 * and fresh Diffie-Hellman keys for each connection (RFC 7905).
 */
import type { ConnectionOptions, TlsOptions } from "node:tls";

const identity = "saltworks-bench";

const base = {
  ciphers: "ECDHE-PSK-CHACHA20-POLY1305",
  minVersion: "TLSv1.2",
  maxVersion: "TLSv1.2",
} as const;

export function serverSecurity(key: Buffer): TlsOptions {
  return { ...base, pskCallback: (_socket, name) => (name === identity ? key : null) };
}

export function clientSecurity(key: Buffer): ConnectionOptions {
  // There is no certificate: the key proves who the agent is.
  return { ...base, pskCallback: () => ({ psk: key, identity }), checkServerIdentity: () => undefined };
}

/** Why a client was refused before it was heard, for the agent's operator. */
export function refusalText(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC":
    case "ERR_SSL_PSK_IDENTITY_NOT_FOUND":
    case "ERR_SSL_DIGEST_CHECK_FAILED":
      return "it has another secret";
    case "ERR_SSL_NO_SHARED_CIPHER":
      return "it has no secret";
    case "ERR_TLS_HANDSHAKE_TIMEOUT":
      return "it did not prove that it has the secret in time";
    case "ECONNRESET":
      return "it went before it proved that it has the secret";
    default:
      return `it does not speak as a bench does (${error.code ?? "unknown"})`;
  }
}

/** Why an agent could not be reached, for the operator of the bench. */
export function unreachableText(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case "ERR_SSL_SSLV3_ALERT_BAD_RECORD_MAC":
    case "ERR_SSL_TLSV1_ALERT_DECRYPT_ERROR":
    case "ERR_SSL_TLSV1_ALERT_UNKNOWN_PSK_IDENTITY":
    case "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC":
    case "ERR_SSL_SSL/TLS_ALERT_BAD_RECORD_MAC":
      return "it has another secret: --agent-secret and its --secret must name copies of one file";
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_UNSUPPORTED_PROTOCOL":
    case "ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE":
    case "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE":
      return "what listens there is not a bench agent";
    case "ECONNREFUSED":
      return "nothing listens there: start saltworks bench agent on that host";
    case "ECONNRESET":
      return "it closed the connection before it proved that it has the secret";
    default:
      return error.code ?? error.message;
  }
}
