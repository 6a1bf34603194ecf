/** The driver `sqlite3`: a file of SQLite with the tables of Salt's returner `sqlite3`. */
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
import { SqlReader } from "../sql/reader.ts";
import { packageName } from "./client.ts";
import { expireRows } from "./expire.ts";
import { placeOf, SqliteFile } from "./file.ts";
import { SqliteQueries } from "./queries.ts";
import { schema } from "./schema.ts";
import { checkTables, writeRows } from "./write.ts";

export const sqliteDriver: DatabaseDriver = {
  packageName,
  place: placeOf,
  open: (config) => new SqliteDatabase(config),
};

/** Reads and writes have a connection each, so that no read sees what is not committed. */
class SqliteDatabase implements JobDatabase {
  readonly name = "sqlite3";
  readonly place: string;
  readonly reader: SqlReader;
  readonly #writing: SqliteFile;
  readonly #reading: SqliteFile;

  constructor(config: DatabaseConfig) {
    this.place = placeOf(config);
    this.#writing = new SqliteFile(config);
    this.#reading = new SqliteFile(config);
    this.reader = new SqlReader(new SqliteQueries(this.#reading));
  }

  /** On a new connection, because an open one notices a changed table only when it uses it. */
  async check(): Promise<void> {
    this.#writing.close();
    await this.#writing.run(checkTables);
  }

  async write(rows: readonly Row[], { mayBePresent }: WriteOptions): Promise<Written> {
    return await this.#writing.transaction((prepared) => writeRows(prepared, rows, mayBePresent));
  }

  /** The clock of the database is this machine's. */
  async expire(o: ExpiryStep): Promise<Expired> {
    return await this.#writing.transaction((prepared) => expireRows(prepared, o, Date.now()));
  }

  async createSchema(): Promise<readonly string[]> {
    this.#writing.make();
    return await this.#writing.transaction((prepared) => {
      const known = new Set(
        prepared("SELECT name FROM sqlite_schema")
          .all()
          .map(({ name }) => name),
      );
      const missing = [...schema].filter(([name]) => !known.has(name));
      for (const [, statement] of missing) prepared(statement).run();
      return missing.map(([name]) => name);
    });
  }

  async close(): Promise<void> {
    for (const file of [this.#writing, this.#reading]) file.close();
  }
}
