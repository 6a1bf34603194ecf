/** The drivers `postgres` and `pgjsonb`: PostgreSQL, in the tables of Salt's returners of these names. */
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
import { PostgresQueries } from "./queries.ts";
import { tablesOf } from "./schema.ts";
import { PostgresSession } from "./session.ts";
import { type PostgresName, placeOf, settingsOf } from "./settings.ts";
import { emptyWrites, writeRows } from "./write.ts";

export const postgresDriver = driverOf("postgres");
export const pgjsonbDriver = driverOf("pgjsonb");

function driverOf(name: PostgresName): DatabaseDriver {
  return {
    packageName,
    place: (config) => placeOf(settingsOf(config, name)),
    open: (config) => new PostgresDatabase(config, name),
  };
}

/** Reads and writes have a connection each, because a read may take long. */
class PostgresDatabase implements JobDatabase {
  readonly name: PostgresName;
  readonly place: string;
  readonly reader: SqlReader;
  readonly #writing: PostgresSession;
  readonly #reading: PostgresSession;

  constructor(config: DatabaseConfig, name: PostgresName) {
    const settings = settingsOf(config, name);
    this.name = name;
    this.place = placeOf(settings);
    const statementMs = databaseStatementMs;
    this.#writing = new PostgresSession(settings, { statementMs, soleName: writerName(config) });
    this.#reading = new PostgresSession(settings, { statementMs });
    this.reader = new SqlReader(new PostgresQueries(this.#reading));
  }

  async check(): Promise<void> {
    for (const statement of emptyWrites(this.name)) await this.#writing.run(statement, []);
  }

  async write(rows: readonly Row[], o: WriteOptions): Promise<Written> {
    return await writeRows(this.#writing, this.name, rows, o);
  }

  /** Salt's returner `postgres` keeps all rows. */
  async expire(o: ExpiryStep): Promise<Expired> {
    if (this.name === "postgres") return { jobs: 0, returns: 0, events: 0, next: undefined };
    return await expireRows(this.#writing, o);
  }

  async createSchema(): Promise<readonly string[]> {
    const made: string[] = [];
    for (const [table, statements] of tablesOf(this.name)) {
      const [found] = await this.#reading.rows("SELECT to_regclass($1) AS name", [table]);
      if (found?.name !== null) continue;
      await this.#reading.transaction(async () => {
        for (const statement of statements) await this.#reading.run(statement, []);
      });
      made.push(table);
    }
    return made;
  }

  async close(): Promise<void> {
    await Promise.all([this.#writing.close(), this.#reading.close()]);
  }
}
