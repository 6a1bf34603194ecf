/** Errors of `pg` as ours. Their messages name the server's reason, and never hold the password or a value. */
import { SaltworksError } from "../../errors.ts";
import { unshown } from "../contract/errors.ts";
import { type PostgresSettings, placeOf } from "./settings.ts";

/** Classes of codes by which the server refuses a row for what it holds: sending the same row again is useless. */
const refusals = /^(?:21|22|23|54)/;
const serverCode = /^[0-9A-Z]{5}$/;
/** Codes and classes whose messages are about the connection, the tables or the server. Others may quote a row, as a trigger's may. */
const shownCodes = /^(?:08|25|28|3D|40|53|57|58|42501$|42P01$|42P10$|42703$|55P03$|55000$)/;

type ServerError = Error & { readonly code?: string; readonly severity?: string };

/** A pooler has handed on a connection that does not know our prepared statements, or has others of their names. */
const foreignStatement: ReadonlySet<string> = new Set(["26000", "42P05"]);
/** A server that another took over from stays a standby, so the next try needs a new connection. */
const readOnly = "25006";

/** The server has answered with this error, and the connection goes on. */
export function isAnswer(error: unknown): boolean {
  const { code = "", severity } = error as ServerError;
  if (severity === undefined || foreignStatement.has(code)) return false;
  return code !== readOnly && severity !== "FATAL" && severity !== "PANIC" && serverCode.test(code);
}

export function postgresError(error: unknown, settings: PostgresSettings): SaltworksError {
  if (error instanceof SaltworksError) return error;
  const { code = "", severity, message } = error as ServerError;
  const place = placeOf(settings);
  const isFromServer = severity !== undefined && serverCode.test(code);
  if (isFromServer && refusals.test(code))
    return new SaltworksError("DATABASE_REFUSED", `${place} refused a row (${code})`, { reason: code });
  const isQuoted = isFromServer && !shownCodes.test(code);
  const shown = isQuoted ? unshown(code) : code === "" ? message : `${message} (${code})`;
  return new SaltworksError("DATABASE_FAILED", `${place}: ${shown}${adviceFor(code, settings.name)}`, {
    reason: code,
    ...(isAnswer(error) || code === readOnly ? {} : { isCut: true }),
  });
}

/** What an operator can do about the most frequent errors. */
function adviceFor(code: string, name: string): string {
  const option = `returner.${name}`;
  switch (code) {
    case "42P01":
      return `: make the tables with \`saltworks run jobs.create_schema name=${name}\``;
    case "28P01":
    case "28000":
      return `: look at ${option}.user and ${option}.${name === "postgres" ? "passwd" : "pass"}`;
    case "3D000":
      return `: create it, and make ${option}.user its owner`;
    case "42501":
      return `: grant ${option}.user the rights on the tables of ${option}.db`;
    case "42P10":
      return ": give the table `jids` its key, `ALTER TABLE jids ADD PRIMARY KEY (jid)`";
    case readOnly:
      return ": the server is a standby; name the primary";
    default:
      return "";
  }
}
