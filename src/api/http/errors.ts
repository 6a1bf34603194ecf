/** Every error of the API in one form: status, message and code. No stack, path or secret leaves the process. */
import { errorCodes, SaltworksError } from "../../errors.ts";
import { apiRetryAfterSeconds } from "../../limits.ts";

/** `message` is shown to the client. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

export const noSessionText = "No permission -- see authorization schemes";
export const masterDownText = "Salt Master is not available.";
const unexpectedText = "An unexpected error occurred";

const retryHeaders = { "retry-after": String(apiRetryAfterSeconds) };

/** 503 for a bound that is reached. */
export function busy(message: string): ApiError {
  return new ApiError(503, message, retryHeaders);
}

/** 429 for a bound of one user or address. */
export function tooMany(message: string): ApiError {
  return new ApiError(429, message, retryHeaders);
}

export function notFound(url: string): ApiError {
  return new ApiError(404, `The path '${(url.split("?")[0] ?? "").slice(0, 200)}' was not found.`);
}

/** Codes whose messages are written for the caller. Others may name files of this machine. */
const openCodes: ReadonlySet<string> = new Set([
  "AUTH_FAILED",
  "REQUEST_REFUSED",
  "TARGET_INVALID",
  "QUEUE_FULL",
  "FUNCTION_ARGUMENTS",
  "REQUEST_TIMEOUT",
  "OPENID_PROVIDER_FAILED",
]);

/** The error that a client gets. Undefined `cause` in the log for errors that the client made. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof SaltworksError) {
    if (error.code === "MASTER_UNREACHABLE" || error.code === "CHANNEL_CLOSED") return busy(masterDownText);
    // The master refused what was asked, not who asked: that would be AUTH_FAILED.
    const http = error.code === "REQUEST_REFUSED" ? 400 : errorCodes[error.code].http;
    // An unknown node group is told with the master's file, which is for operators of the machine.
    const message = error.code === "TARGET_INVALID" ? error.message.replace(/ in \/.*$/s, "") : error.message;
    return new ApiError(http, openCodes.has(error.code) ? message : unexpectedText, http === 503 ? retryHeaders : {});
  }
  const status = error instanceof Error && "statusCode" in error ? Number(error.statusCode) : 500;
  if (status === 413) return new ApiError(413, "The request's body is too large");
  if (status === 415) return new ApiError(406, "Content type not supported");
  if (status >= 400 && status < 500) return new ApiError(status, "The request cannot be read");
  return new ApiError(500, unexpectedText);
}
