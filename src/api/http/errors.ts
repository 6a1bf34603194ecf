/** Every error of the API in one form: status, message and code. No stack, path or secret leaves the process. */
import { errorCodes, SaltworksError } from "../../errors.ts";
import { apiRetryAfterSeconds } from "../../limits.ts";
import { type ApiErrorCode, apiErrorCodes, shownCode } from "./error-codes.ts";

/** `message` is shown to the client. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ApiErrorCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  /** `status`: where it is not the code's own. */
  constructor(
    code: ApiErrorCode,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    status: number = apiErrorCodes[code].status,
  ) {
    super(message);
    this.code = code;
    this.status = status;
    this.headers = headers;
  }
}

export const noSessionText = "No permission -- see authorization schemes";
export const masterDownText = "Salt Master is not available.";
const unexpectedText = "An unexpected error occurred";

const retryHeaders = { "retry-after": String(apiRetryAfterSeconds) };

/** What programs read of an error: its body, or the last line of an answer line by line. */
export function errorBody({ status, message, code }: ApiError) {
  return { status, return: message, code };
}

/** 503 for a bound that is reached. */
export function busy(message: string, code: "API_FULL" | "MASTER_AWAY" | "QUEUE_FULL" = "API_FULL"): ApiError {
  return new ApiError(code, message, retryHeaders);
}

/** 429 for a bound of one user or address. */
export function tooMany(message: string, code: "USER_BUSY" | "ADDRESS_BUSY"): ApiError {
  return new ApiError(code, message, retryHeaders);
}

export function notFound(url: string): ApiError {
  return new ApiError("PATH_UNKNOWN", `The path '${(url.split("?")[0] ?? "").slice(0, 200)}' was not found.`);
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

/** Of errors that are not told in words of their own. */
const codesOfStatus: Readonly<Record<number, ApiErrorCode>> = {
  400: "REQUEST_UNREADABLE",
  404: "PATH_UNKNOWN",
  408: "REQUEST_SLOW",
  413: "BODY_TOO_LARGE",
  414: "PATH_TOO_LONG",
  431: "HEADER_TOO_LARGE",
  503: "API_FULL",
  504: "REQUEST_TIMEOUT",
};

/** The error that a client gets. Undefined `cause` in the log for errors that the client made. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof SaltworksError) {
    if (error.code === "MASTER_UNREACHABLE" || error.code === "CHANNEL_CLOSED")
      return busy(masterDownText, "MASTER_AWAY");
    // The master refused what was asked, not who asked: that would be AUTH_FAILED.
    const http = error.code === "REQUEST_REFUSED" ? 400 : errorCodes[error.code].http;
    // An unknown node group is told with the master's file, which is for operators of the machine.
    const message = error.code === "TARGET_INVALID" ? error.message.replace(/ in \/.*$/s, "") : error.message;
    const isOpen = openCodes.has(error.code);
    const code = (isOpen ? shownCode(error.code) : undefined) ?? codesOfStatus[http] ?? "FAULT";
    return new ApiError(code, isOpen ? message : unexpectedText, http === 503 ? retryHeaders : {}, http);
  }
  const status = error instanceof Error && "statusCode" in error ? Number(error.statusCode) : 500;
  if (status === 413) return new ApiError("BODY_TOO_LARGE", "The request's body is too large");
  if (status === 415) return new ApiError("BODY_TYPE_UNKNOWN", "Content type not supported");
  if (status >= 400 && status < 500)
    return new ApiError(codesOfStatus[status] ?? "REQUEST_UNREADABLE", "The request cannot be read", {}, status);
  return new ApiError("FAULT", unexpectedText);
}
