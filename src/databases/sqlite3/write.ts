/** Writes rows of jobs and returns with the columns of Salt's returner `sqlite3`. */
import { reprOf } from "../../python/repr.ts";
import { formatDate } from "../../python/strftime.ts";
import { isTrue } from "../../python/values.ts";
import type { Written } from "../contract/database.ts";
import { functionNames, type ReturnRow, type Row } from "../contract/rows.ts";
import { absentOf } from "../contract/writer.ts";
import type { SqliteValue } from "./client.ts";
import type { SqliteStatements } from "./file.ts";

/** A job that is there stays as it is, as in Salt. */
const intoJids = "INSERT INTO jids (jid, load) VALUES (?, ?) ON CONFLICT DO NOTHING";
const intoReturns =
  "INSERT INTO salt_returns (fun, jid, id, fun_args, date, full_ret, success) VALUES (?, ?, ?, ?, ?, ?, ?)";
/** Asked with the pairs as one JSON text, so that any number of them is one statement. */
const presentPairs =
  "SELECT jid, id FROM salt_returns WHERE (jid, id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))";

/** Fails unless the tables have the columns that are written. */
export function checkTables(prepared: SqliteStatements): void {
  for (const sql of [intoJids, intoReturns]) prepared(sql);
}

/** The caller has begun a transaction. */
export function writeRows(prepared: SqliteStatements, rows: readonly Row[], mayBePresent: boolean): Written {
  const returns = rows.filter((row): row is ReturnRow => row.kind === "return");
  const added = mayBePresent ? absentOf(returns, presentOf(prepared, returns)) : returns;
  let jobs = 0;
  for (const row of rows) if (row.kind === "job") jobs += Number(prepared(intoJids).run(row.jid, row.load).changes);
  const nowMs = Date.now();
  for (const row of added) prepared(intoReturns).run(...columnsOf(row, localTime(row.atMs ?? nowMs)));
  if (!mayBePresent) return { jobs: rows.length - returns.length, returns: added.length, present: 0 };
  return { jobs, returns: added.length, present: rows.length - jobs - added.length };
}

function presentOf(prepared: SqliteStatements, returns: readonly ReturnRow[]) {
  const pairs = JSON.stringify(returns.map(({ jid, minionId }) => [jid, minionId]));
  return prepared(presentPairs)
    .all(pairs)
    .map(({ jid, id }) => ({ jid: String(jid), minionId: String(id) }));
}

/** The table has only the value that the function returned. Its arguments are text as Python prints them. */
function columnsOf({ fields, jid, minionId, value, success }: ReturnRow, time: string): readonly SqliteValue[] {
  const args = fields.get("fun_args") ?? null;
  const isKnown = fields.get("success") !== undefined && fields.get("success") !== null;
  return [
    ...[functionNames(fields.get("fun")), jid, minionId, isTrue(args) ? reprOf(args) : null, time, value],
    isKnown ? success : "",
  ];
}

/** As Python prints it. */
function localTime(atMs: number): string {
  return formatDate(atMs, "%Y-%m-%d %H:%M:%S.%f");
}
