/** What is asked of Salt's tables in the SQL of SQLite. */
import type { JidOf, Returned, SqlQueries, StoredBody, StoredJob } from "../sql/reader.ts";
import type { SqliteRow, SqliteValue } from "./client.ts";
import type { SqliteFile } from "./file.ts";

const jobColumns = "SELECT jid, load FROM jids";

export class SqliteQueries implements SqlQueries {
  readonly #file: SqliteFile;

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  async jobs(jid: string): Promise<readonly StoredJob[]> {
    return (await this.#rows(`${jobColumns} WHERE jid = ?`, jid)).map(jobOf);
  }

  async bodies(jid: string, ids: readonly string[]): Promise<readonly StoredBody[]> {
    const sql =
      "SELECT jid, id, fun, success, full_ret FROM salt_returns WHERE jid = ? AND id IN (SELECT value FROM json_each(?)) ORDER BY rowid";
    const rows = await this.#rows(sql, jid, JSON.stringify(ids));
    return rows.map((row) => ({ ...returnedOf(row), body: bodyText(row) }));
  }

  async returned(jid: string): Promise<readonly Returned[]> {
    return (await this.#rows("SELECT DISTINCT jid, id FROM salt_returns WHERE jid = ?", jid)).map(returnedOf);
  }

  async jobsBelow(below: string, from: string, limit: number): Promise<readonly StoredJob[]> {
    const sql = `${jobColumns} WHERE jid < ? AND jid >= ? ORDER BY jid DESC LIMIT ${limit}`;
    return (await this.#rows(sql, below, from)).map(jobOf);
  }

  async jobsAround(after: string, limit: number): Promise<readonly StoredJob[]> {
    return (await this.#rows(`${jobColumns} WHERE jid < '0' OR jid > ? LIMIT ${limit}`, after)).map(jobOf);
  }

  async jidsAfter(after: string, limit: number): Promise<readonly JidOf[]> {
    const part = (table: JidOf["table"]) =>
      `SELECT * FROM (SELECT '${table}' AS part, jid FROM ${table} WHERE jid > ? ORDER BY jid LIMIT ${limit})`;
    const rows = await this.#rows(`${part("jids")} UNION ALL ${part("salt_returns")} ORDER BY jid`, after, after);
    return rows.map(({ part: table, jid }) => ({ table: table as JidOf["table"], jid: String(jid) }));
  }

  async jobCount(): Promise<number> {
    return Number((await this.#rows("SELECT COUNT(*) AS count FROM jids"))[0]?.count);
  }

  async #rows(sql: string, ...values: readonly SqliteValue[]): Promise<readonly SqliteRow[]> {
    return await this.#file.run((prepared) => prepared(sql).all(...values));
  }
}

/** The whole return in JSON, as far as the table has it. Salt writes a boolean as 1 or 0, and an unknown success as an empty text. */
function bodyText({ jid, id, fun, success, full_ret: value }: SqliteRow): string {
  const known = { id: String(id), jid: String(jid), fun: String(fun) };
  const outcome = success === "" ? {} : { success: success === "1" || success === "True" };
  return `${JSON.stringify({ ...known, ...outcome }).slice(0, -1)}, "return": ${String(value)}}`;
}

function jobOf({ jid, load }: SqliteRow): StoredJob {
  return { jid: String(jid), load: String(load) };
}

function returnedOf({ jid, id }: SqliteRow): Returned {
  return { jid: String(jid), id: String(id) };
}
