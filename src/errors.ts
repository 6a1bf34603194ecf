/**
 * Every error code this program can raise, and the one class that carries them.
 * Codes are permanent: never renamed, never reused. docs/errors.md lists them; a test compares.
 */

/** `http`: status the HTTP API answers; `retry`: whether the same call may succeed later without a change. */
export const errorCodes = {
  WIRE_TRUNCATED: { http: 400, retry: false, about: "Bytes end in the middle of a value." },
  WIRE_MALFORMED: { http: 400, retry: false, about: "Bytes that are not the expected form." },
  WIRE_TOO_LARGE: { http: 413, retry: false, about: "A frame, string or collection announces more than its limit." },
  WIRE_TOO_DEEP: { http: 400, retry: false, about: "Values nested deeper than `nestingDepthMax`." },
  CRYPTO_BAD_MAC: { http: 401, retry: false, about: "A sealed message whose authentication code does not verify." },
  CRYPTO_BAD_NONCE: { http: 401, retry: false, about: "A sealed reply that answers another request." },
  CRYPTO_BAD_KEY: { http: 400, retry: false, about: "Key text that is not a usable RSA or session key." },
  CRYPTO_BAD_SIGNATURE: { http: 401, retry: false, about: "An RSA signature that does not verify." },
  CRYPTO_BAD_ALGORITHM: {
    http: 400,
    retry: false,
    about: "An encryption or signing algorithm that Salt does not know.",
  },
  CRYPTO_DECRYPT_FAILED: { http: 401, retry: false, about: "An RSA ciphertext that this key does not open." },
  AUTH_FAILED: { http: 401, retry: false, about: "Authentication with the master failed." },
  AUTH_REJECTED: { http: 403, retry: false, about: "The master rejected this minion's key." },
  AUTH_FULL: { http: 503, retry: true, about: "The master already serves `max_minions`." },
  AUTH_MASTER_MISMATCH: { http: 401, retry: false, about: "The master's public key is not the one that is pinned." },
  REQUEST_TIMEOUT: { http: 504, retry: true, about: "No reply within the request's time, after all tries." },
  REQUEST_REFUSED: {
    http: 401,
    retry: false,
    about: "The master answered that it could not read or would not serve the request.",
  },
  CHANNEL_CLOSED: { http: 503, retry: true, about: "The socket was closed while the call was under way." },
  QUEUE_FULL: { http: 503, retry: true, about: "A bounded queue has no room." },
  TASK_TIMEOUT: { http: 504, retry: true, about: "A worker did not finish a task in time and was replaced." },
  WORKER_LOST: { http: 503, retry: true, about: "A worker thread died with the task." },
  STORE_FAILED: { http: 500, retry: true, about: "The store could not read or write." },
  STORE_DAMAGED: { http: 500, retry: false, about: "A file of the store is not what was written to it." },
  STORE_SEAL_BROKEN: { http: 500, retry: false, about: "A sealed record does not open under this master's key." },
  CONFIG_INVALID: { http: 400, retry: false, about: "One or more configuration values are wrong; all are listed." },
  CONFIG_UNREADABLE: { http: 400, retry: false, about: "A configuration file cannot be read or is not YAML." },
  TARGET_INVALID: { http: 400, retry: false, about: "A target expression that cannot be parsed or is refused." },
  MASTER_UNREACHABLE: { http: 503, retry: true, about: "The master's sockets are not there or do not answer." },
  MASTER_RUNNING: { http: 409, retry: false, about: "Another master already uses these ports or directories." },
  PORT_UNUSABLE: { http: 500, retry: false, about: "The system refuses a port that the configuration names." },
  SYSTEM_REFUSED: { http: 500, retry: false, about: "The operating system refused what a daemon needs at its start." },
  USAGE: { http: 400, retry: false, about: "A command line that cannot be understood." },
  FUNCTION_UNKNOWN: { http: 404, retry: false, about: "No function of that name." },
  FUNCTION_ARGUMENTS: { http: 400, retry: false, about: "Arguments that the function does not take." },
  FUNCTION_FAILED: { http: 500, retry: false, about: "A function stopped with an error of its own." },
  FILES_FAILED: { http: 500, retry: false, about: "Files below the file roots that cannot be listed or served." },
  PYTHON_RAISED: { http: 400, retry: false, about: "What Python would raise on a value: its class is in the detail." },
  PILLAR_FAILED: { http: 500, retry: false, about: "A pillar file that cannot be rendered." },
} as const;

export type ErrorCode = keyof typeof errorCodes;
export type ErrorDetail = Readonly<Record<string, string | number | boolean>>;

/** The one class. Match on `code`: `instanceof` does not survive a thread boundary. Never holds secrets or payloads. */
export class SaltworksError extends Error {
  override readonly name = "SaltworksError";
  readonly code: ErrorCode;
  readonly detail: ErrorDetail;
  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.detail = detail;
  }
}

/** Whether `error` is ours with this code, also after it crossed a thread. */
export function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
