/** The driver `mysql`: MariaDB and MySQL, in the tables of Salt's returner `mysql`. */
import { databaseStatementMs } from "../../limits.ts";
import type {
  DatabaseConfig,
  DatabaseDriver,
  Expired,
  ExpiryStep,
  JobDatabase,
  WriteOptions,
  Written,
} from "../contract/database.ts";
import type { Row } from "../contract/rows.ts";
import { writerName } from "../contract/writer.ts";
import { SqlReader } from "../sql/reader.ts";
import { packageName } from "./client.ts";
import { expireRows } from "./expire.ts";
import { MysqlQueries } from "./queries.ts";
import { tables } from "./schema.ts";
import { MysqlSession, placeOf } from "./session.ts";
import { emptyWrites, writeRows } from "./write.ts";

export const mysqlDriver: DatabaseDriver = {
  packageName,
  place: placeOf,
  open: (config) => new MysqlDatabase(config),
};

/** Reads and writes have a connection each, because a read may take long. */
class MysqlDatabase implements JobDatabase {
  readonly name = "mysql";
  readonly place: string;
  readonly reader: SqlReader;
  readonly #writing: MysqlSession;
  readonly #reading: MysqlSession;

  constructor(config: DatabaseConfig) {
    this.place = placeOf(config);
    this.#writing = new MysqlSession(config, { statementMs: databaseStatementMs, soleName: writerName(config) });
    this.#reading = new MysqlSession(config, { statementMs: databaseStatementMs });
    this.reader = new SqlReader(new MysqlQueries(this.#reading));
  }

  async check(): Promise<void> {
    for (const statement of emptyWrites) await this.#writing.run(statement, []);
  }

  async write(rows: readonly Row[], o: WriteOptions): Promise<Written> {
    return await writeRows(this.#writing, rows, o);
  }

  async expire(o: ExpiryStep): Promise<Expired> {
    return await expireRows(this.#writing, o);
  }

  async createSchema(): Promise<readonly string[]> {
    const made: string[] = [];
    for (const [name, statement] of tables) {
      const sql =
        "SELECT COUNT(*) AS count FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?";
      const [found] = await this.#reading.rows(sql, [name]);
      if (Number(found?.count) > 0) continue;
      await this.#reading.run(statement, []);
      made.push(name);
    }
    return made;
  }

  async close(): Promise<void> {
    await Promise.all([this.#writing.close(), this.#reading.close()]);
  }
}
