/** Errors of `mysql2` as ours. Their messages name the server's reason, and never hold the password or a statement with values. */
import { SaltworksError } from "../../errors.ts";
import { unshown } from "../contract/errors.ts";

/** Codes by which the server refuses a row for what it holds: sending the same row again is useless. */
const refusals: ReadonlySet<string> = new Set([
  "ER_BAD_NULL_ERROR",
  "ER_DATA_TOO_LONG",
  "ER_DUP_ENTRY",
  "ER_INVALID_CHARACTER_STRING",
  "ER_NET_PACKET_TOO_LARGE",
  "ER_TRUNCATED_WRONG_VALUE",
  "ER_TRUNCATED_WRONG_VALUE_FOR_FIELD",
  "ER_WARN_DATA_OUT_OF_RANGE",
]);

/** The server has answered with an error. Other errors are of the connection. */
export const answered = /^ER_/;

/**
 * A connection keeps the rights that its user had when it was opened, and a server that another took over from stays read-only. So the next try
 * needs a new connection.
 */
export const staleUntilReconnected: ReadonlySet<string> = new Set([
  "ER_COLUMNACCESS_DENIED_ERROR",
  "ER_DBACCESS_DENIED_ERROR",
  "ER_OPTION_PREVENTS_STATEMENT",
  "ER_SPECIFIC_ACCESS_DENIED_ERROR",
  "ER_TABLEACCESS_DENIED_ERROR",
]);

/** What an operator can do about the most frequent errors. */
const advice: Readonly<Record<string, string>> = {
  ER_NO_SUCH_TABLE: ": make the tables with `saltworks run jobs.create_schema`",
  ER_ACCESS_DENIED_ERROR: ": look at mysql.user and mysql.pass",
  ER_DBACCESS_DENIED_ERROR: ": grant mysql.user the rights on mysql.db",
  ER_TABLEACCESS_DENIED_ERROR: ": grant mysql.user the rights on mysql.db",
  ER_OPTION_PREVENTS_STATEMENT: ": the server is read-only; name the primary",
  ER_BAD_DB_ERROR: ": create it, and grant mysql.user the rights on it",
  ER_LOCK_WAIT_TIMEOUT: ": another client locks the tables, which SHOW FULL PROCESSLIST on the server names",
  ER_RECORD_FILE_FULL: ": the server's disk is full",
  ER_DISK_FULL: ": the server's disk is full",
};

type ServerError = Error & { readonly code?: string; readonly sqlMessage?: string };

export function mysqlError(error: unknown, place: string): SaltworksError {
  if (error instanceof SaltworksError) return error;
  const { code = "", sqlMessage, message } = error as ServerError;
  if (refusals.has(code))
    return new SaltworksError("DATABASE_REFUSED", `${place} refused a row (${code})`, { reason: code });
  // A server may quote values in its message, so that only messages about the connection and the tables are shown.
  const isQuoted = sqlMessage !== undefined && advice[code] === undefined;
  const reason = isQuoted
    ? unshown(code)
    : `${sqlMessage ?? message ?? ""}${code === "" || sqlMessage !== undefined ? "" : ` (${code})`}`;
  return new SaltworksError("DATABASE_FAILED", `${place}: ${reason}${advice[code] ?? ""}`, {
    reason: code,
    ...(answered.test(code) ? {} : { isCut: true }),
  });
}
