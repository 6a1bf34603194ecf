/** What is asked of Salt's tables in the SQL of MariaDB and MySQL. */
import type { JidOf, Returned, SqlQueries, StoredBody, StoredJob } from "../sql/reader.ts";
import type { MysqlRow } from "./client.ts";
import type { MysqlSession } from "./session.ts";

const jobColumns = "SELECT `jid`, `load` FROM `jids`";

export class MysqlQueries implements SqlQueries {
  readonly #session: MysqlSession;

  constructor(session: MysqlSession) {
    this.#session = session;
  }

  async jobs(jid: string): Promise<readonly StoredJob[]> {
    return (await this.#session.rows(`${jobColumns} WHERE \`jid\` = ?`, [jid])).map(jobOf);
  }

  async bodies(jid: string, ids: readonly string[]): Promise<readonly StoredBody[]> {
    const marks = ids.map(() => "?").join(", ");
    const sql = `SELECT \`jid\`, \`id\`, \`full_ret\` FROM \`salt_returns\` WHERE \`jid\` = ? AND \`id\` IN (${marks})`;
    const rows = await this.#session.rows(sql, [jid, ...ids]);
    return rows.map((row) => ({ ...returnedOf(row), body: String(row.full_ret) }));
  }

  async returned(jid: string): Promise<readonly Returned[]> {
    const sql = "SELECT DISTINCT `jid`, `id` FROM `salt_returns` WHERE `jid` = ?";
    return (await this.#session.rows(sql, [jid])).map(returnedOf);
  }

  async jobsBelow(below: string, from: string, limit: number): Promise<readonly StoredJob[]> {
    const sql = `${jobColumns} WHERE \`jid\` < ? AND \`jid\` >= ? ORDER BY \`jid\` DESC LIMIT ${limit}`;
    return (await this.#session.rows(sql, [below, from])).map(jobOf);
  }

  async jobsAround(after: string, limit: number): Promise<readonly StoredJob[]> {
    const sql = `${jobColumns} WHERE \`jid\` < '0' OR \`jid\` > ? LIMIT ${limit}`;
    return (await this.#session.rows(sql, [after])).map(jobOf);
  }

  async jidsAfter(after: string, limit: number): Promise<readonly JidOf[]> {
    const part = (table: JidOf["table"]) =>
      `(SELECT '${table}' AS part, \`jid\` FROM \`${table}\` WHERE \`jid\` > ? ORDER BY \`jid\` LIMIT ${limit})`;
    const sql = `SELECT * FROM (${part("jids")} UNION ALL ${part("salt_returns")}) AS both_tables ORDER BY \`jid\``;
    const rows = await this.#session.rows(sql, [after, after]);
    return rows.map(({ part: table, jid }) => ({ table: table as JidOf["table"], jid: String(jid) }));
  }

  async jobCount(): Promise<number | undefined> {
    const sql =
      "SELECT TABLE_ROWS AS count FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'jids'";
    const [row] = await this.#session.rows(sql, []);
    return row === undefined ? undefined : Number(row.count);
  }
}

function jobOf({ jid, load }: MysqlRow): StoredJob {
  return { jid: String(jid), load: String(load) };
}

function returnedOf({ jid, id }: MysqlRow): Returned {
  return { jid: String(jid), id: String(id) };
}
