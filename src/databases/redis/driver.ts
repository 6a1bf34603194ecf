/** The driver `redis`: the keys of Salt's returner `redis`. */
import type {
  DatabaseConfig,
  DatabaseDriver,
  Expired,
  JobDatabase,
  WriteOptions,
  Written,
} from "../contract/database.ts";
import type { Row } from "../contract/rows.ts";
import { SqlReader } from "../sql/reader.ts";
import { packageName } from "./client.ts";
import { RedisQueries } from "./queries.ts";
import { placeOf, RedisSession } from "./session.ts";
import { writeRows } from "./write.ts";

export const redisDriver: DatabaseDriver = {
  packageName,
  place: placeOf,
  open: (config) => new RedisDatabase(config),
};

/** Reads and writes have a connection each, because a read may take long. */
class RedisDatabase implements JobDatabase {
  readonly name = "redis";
  readonly place: string;
  readonly reader: SqlReader;
  readonly #keepSeconds: number;
  readonly #writing: RedisSession;
  readonly #reading: RedisSession;

  constructor(config: DatabaseConfig) {
    this.place = placeOf(config);
    this.#keepSeconds = config.keep_jobs_seconds;
    this.#writing = new RedisSession(config);
    this.#reading = new RedisSession(config);
    this.reader = new SqlReader(new RedisQueries(this.#reading));
  }

  /** There are no tables. */
  async check(): Promise<void> {
    await this.#writing.run((client) => client.ping());
  }

  async write(rows: readonly Row[], { mayBePresent }: WriteOptions): Promise<Written> {
    const how = { mayBePresent, keepSeconds: this.#keepSeconds };
    return await this.#writing.run((client) => writeRows(client, rows, how));
  }

  /** Keys leave by themselves, each at the end of its `EX`. */
  async expire(): Promise<Expired> {
    return { jobs: 0, returns: 0, events: 0, next: undefined };
  }

  /** Redis needs none: keys are made with their first value. */
  async createSchema(): Promise<readonly string[]> {
    await this.check();
    return [];
  }

  async close(): Promise<void> {
    await Promise.all([this.#writing.close(), this.#reading.close()]);
  }
}
