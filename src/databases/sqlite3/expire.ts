/** Removes old rows, a few at a time. Salt has no such function for SQLite. A row is as old as the time in its job id. */
import { jidAt } from "../../wire/jid.ts";
import type { Expired, ExpiryStep } from "../contract/database.ts";
import type { SqliteStatements } from "./file.ts";

/** Job ids that are times. Others stay. */
const timePattern = `${"[0-9]".repeat(20)}*`;
const tables = ["salt_returns", "jids"] as const;

/** The returns of a job leave before the job. The caller has begun a transaction. */
export function expireRows(
  prepared: SqliteStatements,
  { keepSeconds, rowsMax }: Pick<ExpiryStep, "keepSeconds" | "rowsMax">,
  nowMs: number,
): Expired {
  const oldest = jidAt(Math.max(0, nowMs - keepSeconds * 1_000), 0);
  let left = rowsMax;
  const removed = { salt_returns: 0, jids: 0 };
  for (const table of tables) {
    const old = `SELECT rowid FROM ${table} WHERE jid < ? AND jid GLOB '${timePattern}' LIMIT ?`;
    removed[table] = Number(prepared(`DELETE FROM ${table} WHERE rowid IN (${old})`).run(oldest, left).changes);
    left -= removed[table];
    if (left === 0) break;
  }
  return { jobs: removed.jids, returns: removed.salt_returns, events: 0, next: left === 0 ? "more" : undefined };
}
