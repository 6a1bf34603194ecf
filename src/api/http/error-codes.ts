/**
 * The code of each error of the HTTP API, for programs: beside `status` and `return` in its body. Codes are permanent: never renamed, never reused.
 * docs/http-api.md lists them; a test compares. Codes that src/errors.ts has as well are the master's own, with the same meaning.
 */
import type { ErrorCode } from "../../errors.ts";

export const apiErrorCodes = {
  REQUEST_UNREADABLE: { status: 400, about: "The request or its body cannot be read." },
  ARGUMENT_INVALID: { status: 400, about: "A field, query parameter or option is missing or wrong." },
  CLIENT_DISABLED: { status: 400, about: "`netapi_enable_clients` does not name the client." },
  FUNCTION_UNKNOWN: { status: 400, about: "There is no runner or wheel function of that name." },
  FUNCTION_ARGUMENTS: { status: 400, about: "The function does not take these arguments." },
  FUNCTION_FAILED: { status: 400, about: "The function refused what was asked, or failed." },
  TARGET_INVALID: { status: 400, about: "The target cannot be parsed or is refused." },
  REQUEST_REFUSED: { status: 400, about: "The master refused the request." },
  LOGIN_FOREIGN: { status: 400, about: "This browser did not begin the login at an OpenID provider, or too long ago." },
  SESSION_MISSING: { status: 401, about: "There is no session, or it has ended." },
  CREDENTIALS_MISSING: {
    status: 401,
    about: "A command of `/run` has no token, and not all of user, password and eauth.",
  },
  TOKEN_INVALID: { status: 401, about: "A token that cannot be one." },
  LOGIN_FAILED: { status: 401, about: "The credentials are wrong, or this user may not log in from here." },
  AUTH_FAILED: { status: 401, about: "The user may not do this, or a token has ended." },
  ADDRESS_REFUSED: { status: 403, about: "`authorized_ips` does not name the address." },
  ORIGIN_REFUSED: { status: 403, about: "A page of another origin asks for a WebSocket with a cookie." },
  PATH_UNKNOWN: { status: 404, about: "The path or file does not exist." },
  JOB_UNKNOWN: { status: 404, about: "There is no such job, or none that runs or waits." },
  METHOD_UNKNOWN: { status: 405, about: "The path does not have this method." },
  FORMAT_UNKNOWN: { status: 406, about: "`Accept` names no format of this answer. Nothing ran." },
  BODY_TYPE_UNKNOWN: { status: 406, about: "The type of the body is unknown. Nothing ran." },
  REQUEST_SLOW: { status: 408, about: "The request was not complete in time." },
  KEY_EXISTS: { status: 409, about: "The minion has an accepted key, and `force` is not set." },
  JOB_STATE: { status: 409, about: "The state of the job does not allow this." },
  BODY_TOO_LARGE: { status: 413, about: "The body has too many bytes or values." },
  PATH_TOO_LONG: { status: 414, about: "A part of the path is too long." },
  SOCKET_ONLY: { status: 426, about: "The path speaks WebSocket only." },
  USER_BUSY: { status: 429, about: "The user has too many requests under way, or streams open. `Retry-After` is set." },
  ADDRESS_BUSY: { status: 429, about: "The address has too many requests under way. `Retry-After` is set." },
  HEADER_TOO_LARGE: { status: 431, about: "The header has too many bytes." },
  FAULT: { status: 500, about: "A fault of the API or the master. Their log says more." },
  CLIENT_UNBUILT: { status: 501, about: "A client of Salt that does not exist here." },
  OPENID_PROVIDER_FAILED: { status: 502, about: "The OpenID provider gives no valid answer." },
  MASTER_AWAY: { status: 503, about: "The master is not there. `Retry-After` is set." },
  QUEUE_FULL: { status: 503, about: "The master has no room for the request. `Retry-After` is set." },
  API_FULL: { status: 503, about: "A bound of the API for all clients is reached. `Retry-After` is set." },
  REQUEST_TIMEOUT: { status: 504, about: "The master did not answer in time." },
  DEADLINE_PASSED: { status: 504, about: "The deadline of the request has passed. What runs goes on." },
} as const;

export type ApiErrorCode = keyof typeof apiErrorCodes;

/** The code that the API shows for one of the master's: its own where clients may know it. */
export function shownCode(code: ErrorCode): ApiErrorCode | undefined {
  return code in apiErrorCodes ? (code as ApiErrorCode & ErrorCode) : undefined;
}
