/**
 * Every error code this program can raise, and the one class that carries them.
 * Codes are permanent: never renamed, never reused. docs/errors.md lists them; a test compares.
 */

/**
 * `http`: status in the HTTP API. `retry`: whether the same call may succeed later unchanged.
 */
export const errorCodes = {
  WIRE_TRUNCATED: { http: 400, retry: false, about: "Bytes end in the middle of a value." },
  WIRE_MALFORMED: { http: 400, retry: false, about: "Bytes that do not have the expected form." },
  WIRE_TOO_LARGE: { http: 413, retry: false, about: "A frame, string or collection announces more than its limit." },
  WIRE_TOO_DEEP: { http: 400, retry: false, about: "Values nested deeper than `nestingDepthMax`." },
  CRYPTO_BAD_MAC: { http: 401, retry: false, about: "A sealed message whose authentication code does not verify." },
  CRYPTO_BAD_NONCE: { http: 401, retry: false, about: "A sealed reply to another request." },
  CRYPTO_BAD_KEY: { http: 400, retry: false, about: "Key text that is not a usable RSA or session key." },
  CRYPTO_BAD_SIGNATURE: { http: 401, retry: false, about: "An RSA signature that does not verify." },
  CRYPTO_BAD_ALGORITHM: {
    http: 400,
    retry: false,
    about: "An encryption or signing algorithm that Salt does not know.",
  },
  CRYPTO_DECRYPT_FAILED: { http: 401, retry: false, about: "An RSA ciphertext that this key does not decrypt." },
  AUTH_FAILED: { http: 401, retry: false, about: "Authentication with the master failed." },
  AUTH_REJECTED: { http: 403, retry: false, about: "The master rejected this minion's key." },
  AUTH_FULL: { http: 503, retry: true, about: "The master already serves `max_minions`." },
  AUTH_MASTER_MISMATCH: { http: 401, retry: false, about: "The master's public key differs from the pinned one." },
  REQUEST_TIMEOUT: { http: 504, retry: true, about: "No reply before the timeout, after all tries." },
  REQUEST_REFUSED: {
    http: 401,
    retry: false,
    about: "The master could not read the request, or refused it.",
  },
  CHANNEL_CLOSED: { http: 503, retry: true, about: "The socket was closed while the call was under way." },
  QUEUE_FULL: { http: 503, retry: true, about: "A bounded queue has no room." },
  TASK_TIMEOUT: {
    http: 504,
    retry: true,
    about: "A worker did not finish a task in time, and the master replaced it.",
  },
  WORKER_LOST: { http: 503, retry: true, about: "A worker thread died with the task." },
  STORE_FAILED: { http: 500, retry: true, about: "The store could not read or write." },
  STORE_DAMAGED: { http: 500, retry: false, about: "A file of the store does not hold what was written to it." },
  STORE_SEAL_BROKEN: { http: 500, retry: false, about: "A sealed record cannot be decrypted with this master's key." },
  DATABASE_FAILED: {
    http: 503,
    retry: true,
    about: "A database of jobs could not be reached, or did not answer in time.",
  },
  DATABASE_REFUSED: { http: 500, retry: false, about: "A database of jobs refused what was written or asked." },
  OPENID_PROVIDER_FAILED: {
    http: 502,
    retry: true,
    about: "An OpenID provider could not be reached, did not answer in time, or gave no valid answer.",
  },
  CLUSTER_UNAVAILABLE: {
    http: 503,
    retry: true,
    about: "Too few servers of the cluster answer, or the server that this member uses cannot be started or reached.",
  },
  CLUSTER_REFUSED: {
    http: 409,
    retry: false,
    about:
      "What the cluster keeps does not fit this member (another version, another secret, other keys), or an operator's NATS refuses it or does not fit.",
  },
  PACKAGE_MISSING: {
    http: 500,
    retry: false,
    about: "An optional package or program that the configuration needs is not installed.",
  },
  CONFIG_INVALID: { http: 400, retry: false, about: "One or more configuration values are wrong; all are listed." },
  CONFIG_UNREADABLE: { http: 400, retry: false, about: "A configuration file cannot be read or is not YAML." },
  TARGET_INVALID: { http: 400, retry: false, about: "A target expression that cannot be parsed or is refused." },
  MASTER_UNREACHABLE: { http: 503, retry: true, about: "The master's sockets do not exist or do not answer." },
  MASTER_RUNNING: { http: 409, retry: false, about: "Another master already uses these ports or directories." },
  PORT_UNUSABLE: { http: 500, retry: false, about: "The system refuses a port that the configuration names." },
  SYSTEM_REFUSED: {
    http: 500,
    retry: false,
    about: "The operating system refused a call that a daemon needs at its start.",
  },
  SIDECAR_MISSING: {
    http: 501,
    retry: false,
    about: "This master has no Python with Salt, which the call needs (`salt_python`).",
  },
  SIDECAR_FAILED: { http: 502, retry: true, about: "Python with Salt did not start, or ended during the call." },
  SIDECAR_TIMEOUT: { http: 504, retry: true, about: "Python with Salt did not answer in time, and was replaced." },
  USAGE: { http: 400, retry: false, about: "A command line that cannot be parsed." },
  FUNCTION_UNKNOWN: { http: 404, retry: false, about: "No function of that name." },
  FUNCTION_ARGUMENTS: { http: 400, retry: false, about: "Arguments that the function does not take." },
  JOB_UNKNOWN: { http: 404, retry: false, about: "No job of that id, or none that runs or waits." },
  JOB_STATE: { http: 409, retry: false, about: "A job in a state that does not allow what was asked." },
  FUNCTION_FAILED: { http: 500, retry: false, about: "A function stopped with an error of its own." },
  RETURNER_FAILED: { http: 502, retry: false, about: "A returner could not pass on a job's return." },
  RETURNER_UNAVAILABLE: {
    http: 404,
    retry: false,
    about: "A returner that the minion does not have, or whose client library is not installed.",
  },
  GIT_FAILED: { http: 502, retry: true, about: "The program `git` failed, or a git repository could not be fetched." },
  FILES_FAILED: { http: 500, retry: false, about: "Files below the file roots that cannot be listed or served." },
  PYTHON_RAISED: {
    http: 400,
    retry: false,
    about: "Python would raise an exception for a value; `detail.name` is its class.",
  },
  PILLAR_FAILED: { http: 500, retry: false, about: "A pillar file that cannot be rendered." },
} as const;

export type ErrorCode = keyof typeof errorCodes;
export type ErrorDetail = Readonly<Record<string, string | number | boolean>>;

/** The class of all our errors. Match on `code`: `instanceof` does not survive a thread boundary. Never holds secrets or payloads. */
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

/** Whether bytes are at fault, so that the same step fails each time. */
export function isWireFault(error: unknown): boolean {
  return error instanceof SaltworksError && error.code.startsWith("WIRE_");
}

/** Whether `error` is a SaltworksError with this code, also after it crossed a thread. */
export function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
