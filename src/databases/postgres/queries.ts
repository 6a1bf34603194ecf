/** What is asked of Salt's tables in the SQL of PostgreSQL. A text with a zero byte is in no table, and the server refuses it as a question. */
import type { JidOf, Returned, SqlQueries, StoredBody, StoredJob } from "../sql/reader.ts";
import type { SqlRow } from "../sql/session.ts";
import type { PostgresSession } from "./session.ts";

const jobColumns = "SELECT jid, load FROM jids";

export class PostgresQueries implements SqlQueries {
  readonly #session: PostgresSession;

  constructor(session: PostgresSession) {
    this.#session = session;
  }

  async jobs(jid: string): Promise<readonly StoredJob[]> {
    if (!isStorable(jid)) return [];
    return (await this.#session.rows(`${jobColumns} WHERE jid = $1`, [jid])).map(jobOf);
  }

  async bodies(jid: string, ids: readonly string[]): Promise<readonly StoredBody[]> {
    if (!isStorable(jid)) return [];
    const sql =
      "SELECT jid, id, full_ret FROM salt_returns WHERE jid = $1 AND id = ANY($2::text[]) ORDER BY alter_time";
    const rows = await this.#session.rows(sql, [jid, ids.filter(isStorable)]);
    return rows.map((row) => ({ ...returnedOf(row), body: String(row.full_ret) }));
  }

  async returned(jid: string): Promise<readonly Returned[]> {
    if (!isStorable(jid)) return [];
    const sql = "SELECT DISTINCT jid, id FROM salt_returns WHERE jid = $1";
    return (await this.#session.rows(sql, [jid])).map(returnedOf);
  }

  async jobsBelow(below: string, from: string, limit: number): Promise<readonly StoredJob[]> {
    const sql = `${jobColumns} WHERE jid < $1 AND jid >= $2 ORDER BY jid DESC LIMIT ${limit}`;
    return (await this.#session.rows(sql, [below, from])).map(jobOf);
  }

  async jobsAround(after: string, limit: number): Promise<readonly StoredJob[]> {
    const sql = `${jobColumns} WHERE jid < '0' OR jid > $1 LIMIT ${limit}`;
    return (await this.#session.rows(sql, [after])).map(jobOf);
  }

  async jidsAfter(after: string, limit: number): Promise<readonly JidOf[]> {
    const part = (table: JidOf["table"]) =>
      `(SELECT '${table}' AS part, jid FROM ${table} WHERE jid > $1 ORDER BY jid LIMIT ${limit})`;
    const sql = `SELECT * FROM (${part("jids")} UNION ALL ${part("salt_returns")}) AS both_tables ORDER BY jid`;
    const rows = await this.#session.rows(sql, [after]);
    return rows.map(({ part: table, jid }) => ({ table: table as JidOf["table"], jid: String(jid) }));
  }

  async jobCount(): Promise<number | undefined> {
    const sql = "SELECT reltuples::bigint AS count FROM pg_class WHERE oid = to_regclass('jids')";
    const [row] = await this.#session.rows(sql, []);
    return row === undefined ? undefined : Math.max(0, Number(row.count));
  }
}

function isStorable(text: string): boolean {
  return !text.includes("\0");
}

function jobOf({ jid, load }: SqlRow): StoredJob {
  return { jid: String(jid), load: String(load) };
}

function returnedOf({ jid, id }: SqlRow): Returned {
  return { jid: String(jid), id: String(id) };
}
