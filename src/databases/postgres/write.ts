/** Writes rows of jobs and returns, many with each statement. */
import type { Value } from "../../wire/values.ts";
import type { WriteOptions, Written } from "../contract/database.ts";
import { type JobRow, type ReturnRow, type Row, successOf } from "../contract/rows.ts";
import { absentOf, headLength, headOf, presentRow } from "../contract/writer.ts";
import type { SqlRow } from "../sql/session.ts";
import type { PostgresValue } from "./client.ts";
import { jsonOf, withoutZeros } from "./json.ts";
import type { PostgresSession } from "./session.ts";
import type { PostgresName } from "./settings.ts";

/** Rows of one statement. A few fixed numbers, so that few statements are prepared. */
const statementRows = [256, 64, 16, 4, 1];
/** Width of `fun`, characters. */
const funLength = 50;

/** `hasTime`: the last column is seconds since 1970, or null for the server's clock. */
export type Insert = {
  readonly head: string;
  readonly tail: string;
  readonly columns: number;
  readonly hasTime?: boolean;
};

const intoReturns: Insert = {
  head: "INSERT INTO salt_returns (fun, jid, return, id, success, full_ret, alter_time) VALUES ",
  tail: "",
  columns: 7,
  hasTime: true,
};
const intoAbsentJids: Insert = {
  head: "INSERT INTO jids (jid, load) VALUES ",
  tail: " ON CONFLICT DO NOTHING",
  columns: 2,
};
/** A job that is there stays as it is with `postgres`, and is replaced with `pgjsonb`, as in Salt. */
const intoJids: Readonly<Record<PostgresName, Insert>> = {
  postgres: intoAbsentJids,
  pgjsonb: {
    head: "INSERT INTO jids (jid, load) VALUES ",
    tail: " ON CONFLICT (jid) DO UPDATE SET load = EXCLUDED.load WHERE jids.load <> EXCLUDED.load",
    columns: 2,
  },
};

/** Statements that write nothing, and that need the rights, columns and keys that rows need. */
export function emptyWrites(name: PostgresName): readonly string[] {
  return [
    `INSERT INTO jids (jid, load) SELECT jid, load FROM jids LIMIT 0${intoJids[name].tail}`,
    "INSERT INTO salt_returns (fun, jid, return, id, success, full_ret, alter_time) " +
      "SELECT fun, jid, return, id, success, full_ret, alter_time FROM salt_returns LIMIT 0",
  ];
}

/** Writes all rows in one transaction. @throws SaltworksError DATABASE_FAILED, DATABASE_REFUSED */
export async function writeRows(
  session: PostgresSession,
  name: PostgresName,
  rows: readonly Row[],
  { mayBePresent, isOwnOnly = false }: WriteOptions,
): Promise<Written> {
  const jobs = rows.filter((row): row is JobRow => row.kind === "job");
  const returns = rows.filter((row): row is ReturnRow => row.kind === "return");
  return await session.transaction(async () => {
    const added = mayBePresent ? await absent(session, name, returns, isOwnOnly) : returns;
    const known = mayBePresent ? await presentJobs(session, jobs) : new Set<string>();
    // One statement takes a job only once, and the last request counts.
    const loads = new Map(jobs.map(({ jid, load }) => [jid, load]));
    await insert(
      session,
      mayBePresent ? intoAbsentJids : intoJids[name],
      [...loads].map(([jid, load]) => [jid, jsonOf(name, load)]),
    );
    await insert(
      session,
      intoReturns,
      added.map((row) => [
        functionText(row),
        row.jid,
        jsonOf(name, row.value),
        row.minionId,
        successText(row),
        jsonOf(name, row.whole),
        row.atMs === undefined ? null : row.atMs / 1_000,
      ]),
    );
    const newJobs = jobs.filter(({ jid }) => !known.has(jid)).length;
    return { jobs: newJobs, returns: added.length, present: rows.length - newJobs - added.length };
  });
}

async function presentJobs(session: PostgresSession, jobs: readonly JobRow[]): Promise<ReadonlySet<string>> {
  if (jobs.length === 0) return new Set();
  const found = await session.rows("SELECT jid FROM jids WHERE jid = ANY($1::text[])", [jobs.map(({ jid }) => jid)]);
  return new Set(found.map(({ jid }) => String(jid)));
}

/**
 * How a row's `full_ret` begins, and the same of a row that is to be written. `jsonb` has an order of its own, so only the presence of the master's `cmd`
 * counts there.
 */
const heads = {
  postgres: { sql: `left(full_ret, ${headLength})`, of: headOf },
  pgjsonb: {
    sql: "CASE WHEN full_ret -> 'cmd' IS NULL THEN '' ELSE 'cmd' END",
    of: ({ fields }: ReturnRow) => (fields.has("cmd") ? "cmd" : ""),
  },
} as const satisfies Readonly<Record<PostgresName, unknown>>;

/** The returns that the table does not have. */
async function absent(
  session: PostgresSession,
  name: PostgresName,
  returns: readonly ReturnRow[],
  isOwnOnly: boolean,
): Promise<readonly ReturnRow[]> {
  if (returns.length === 0) return [];
  const jids = [...new Set(returns.map(({ jid }) => jid))];
  const ids = [...new Set(returns.map(({ minionId }) => minionId))];
  const head = isOwnOnly ? `, ${heads[name].sql} AS head` : "";
  const sql = `SELECT DISTINCT jid, id${head} FROM salt_returns WHERE jid = ANY($1::text[]) AND id = ANY($2::text[])`;
  const found = await session.rows(sql, [jids, ids]);
  return absentOf(returns, found.map(presentRow), isOwnOnly ? heads[name].of : undefined);
}

/** @returns what the statements give back, if `tail` asks for it */
export async function insert(
  session: PostgresSession,
  { head, tail, columns, hasTime = false }: Insert,
  rows: readonly (readonly PostgresValue[])[],
): Promise<readonly SqlRow[]> {
  const given: SqlRow[] = [];
  for (let at = 0; at < rows.length; ) {
    const count = statementRows.find((size) => size <= rows.length - at) ?? 1;
    given.push(
      ...(await session.rows(head + marks(count, columns, hasTime) + tail, rows.slice(at, at + count).flat())),
    );
    at += count;
  }
  return given;
}

/** `($1, $2), ($3, $4)` */
function marks(rows: number, columns: number, hasTime: boolean): string {
  const one = (row: number) => Array.from({ length: columns }, (_, column) => `$${row * columns + column + 1}`);
  return Array.from({ length: rows }, (_, row) => {
    const all = one(row);
    const time = hasTime ? [`COALESCE(to_timestamp(${all.pop()}::double precision), now())`] : [];
    return `(${[...all, ...time].join(", ")})`;
  }).join(", ");
}

/** The names of a job of several functions are an array's text, as Salt's client library writes a list. */
function functionText({ fun, fields }: ReturnRow): string {
  const names = fields.get("fun");
  const text = Array.isArray(names) ? `{${names.map(elementText).join(",")}}` : fun;
  return withoutZeros([...text].slice(0, funLength).join(""));
}

function elementText(name: Value): string {
  const text = String(name);
  const isPlain = /^[^\s{},"\\]+$/.test(text) && text.toLowerCase() !== "null";
  return isPlain ? text : `"${text.replaceAll(/["\\]/g, (each) => `\\${each}`)}"`;
}

/** As PostgreSQL writes a boolean into a column of text. */
function successText({ success, fields }: ReturnRow): string {
  const value = successOf(fields.get("success")) ?? false;
  return typeof value === "boolean" ? String(value) : withoutZeros(success);
}
