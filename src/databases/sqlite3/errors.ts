/** Errors of `node:sqlite` as ours. SQLite's messages name tables and columns, and no values. */
import { SaltworksError } from "../../errors.ts";

/** SQLite's result codes, without what extends them. */
const resultMask = 0xff;
const results = { busy: 5, locked: 6, readOnly: 8, full: 13, cannotOpen: 14, tooBig: 18, constraint: 19 } as const;
const refusals: ReadonlySet<number> = new Set([results.tooBig, results.constraint]);

/** What an operator can do about the most frequent errors. */
const advice: Readonly<Record<number, string>> = {
  [results.busy]: ": another program holds the file for longer than sqlite3.timeout",
  [results.locked]: ": another program holds the file for longer than sqlite3.timeout",
  [results.readOnly]: ": the master's user must be able to write the file and its directory",
  [results.cannotOpen]: ": the master's user must be able to write the file and its directory",
  [results.full]: ": the disk is full",
};

type SqliteError = Error & { readonly code?: string; readonly errcode?: number };

/** Whether another program holds the file. */
export function isBusy(error: unknown): boolean {
  const result = resultOf(error as SqliteError);
  return result === results.busy || result === results.locked;
}

/** Whether SQLite has refused a row, and the transaction can be undone as usual. */
export function isRefusal(error: unknown): boolean {
  return refusals.has(resultOf(error as SqliteError));
}

export function sqliteError(error: unknown, place: string): SaltworksError {
  if (error instanceof SaltworksError) return error;
  const { code = "", message } = error as SqliteError;
  const reason = code === "ERR_SQLITE_ERROR" ? `SQLITE_${resultOf(error as SqliteError)}` : code;
  if (isRefusal(error)) return new SaltworksError("DATABASE_REFUSED", `${place} refused a row: ${message}`, { reason });
  const missing = message.startsWith("no such table")
    ? ": make the tables with `saltworks run jobs.create_schema`"
    : "";
  const more = missing === "" ? (advice[resultOf(error as SqliteError)] ?? "") : missing;
  return new SaltworksError("DATABASE_FAILED", `${place}: ${message}${more}`, { reason });
}

function resultOf({ errcode = 0 }: SqliteError): number {
  return errcode & resultMask;
}
