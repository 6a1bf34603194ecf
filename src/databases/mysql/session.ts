/** One connection to MariaDB or MySQL: it is opened at the first statement, closed at the first fault, and opened anew by the next statement. */
import { readFileSync } from "node:fs";
import { SaltworksError } from "../../errors.ts";
import { databaseConnectMs } from "../../limits.ts";
import type { DatabaseConfig } from "../contract/database.ts";
import { deadline } from "../contract/deadline.ts";
import {
  connectMysql,
  type MysqlAnswer,
  type MysqlClient,
  type MysqlOptions,
  type MysqlRow,
  type MysqlTls,
  type MysqlValue,
} from "./client.ts";
import { answered, mysqlError } from "./errors.ts";

/** Truncation is an error, so that no row is stored otherwise than it was sent; and a backslash is what the client takes it for. */
const sessionModes = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION";

export type SessionOptions = {
  readonly statementMs: number;
  /**
   * A name of which only one connection may exist. A connection that was lost may still wait for a lock on the server and write later, so
   * its successor ends it first.
   */
  readonly soleName?: string;
};

export class MysqlSession {
  readonly place: string;
  readonly #config: DatabaseConfig;
  readonly #o: SessionOptions;
  #opening: Promise<MysqlClient> | undefined;
  #packetBytesMax = 0;

  constructor(config: DatabaseConfig, o: SessionOptions) {
    this.#config = config;
    this.#o = o;
    this.place = placeOf(config);
  }

  /** The largest packet that the server takes, bytes. Known once connected. */
  async packetBytesMax(): Promise<number> {
    await this.#connected();
    return this.#packetBytesMax;
  }

  async rows(sql: string, values: readonly MysqlValue[]): Promise<readonly MysqlRow[]> {
    const answer = await this.run(sql, values);
    return Array.isArray(answer) ? answer : [];
  }

  /** Runs a prepared statement. @throws SaltworksError DATABASE_FAILED, DATABASE_REFUSED */
  async run(sql: string, values: readonly MysqlValue[]): Promise<MysqlAnswer> {
    const client = await this.#connected();
    return await this.#within(client, client.execute(sql, values));
  }

  /** Runs `step` in a transaction. After a fault nothing of it is kept. */
  async transaction<Result>(step: () => Promise<Result>): Promise<Result> {
    const client = await this.#connected();
    await this.#within(client, client.query("START TRANSACTION"));
    try {
      const result = await step();
      await this.#within(client, client.query("COMMIT"));
      return result;
    } catch (error) {
      if (this.#opening !== undefined)
        await this.#within(client, client.query("ROLLBACK")).catch(() => this.#drop(client));
      throw error;
    }
  }

  async close(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    const client = await opening?.catch(() => undefined);
    client?.destroy();
  }

  #connected(): Promise<MysqlClient> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw mysqlError(error, this.place);
    });
    return this.#opening;
  }

  async #open(): Promise<MysqlClient> {
    const options = optionsOf(this.#config);
    const client = await deadline(connectMysql(options), databaseConnectMs, (late) => late.destroy());
    // An error between two statements. The next statement fails, and the one after it connects anew.
    client.on("error", () => this.#drop(client));
    try {
      await this.#within(client, client.execute("SET SESSION sql_mode = ?", [sessionModes]));
      const answer = await this.#within(client, client.query("SELECT @@max_allowed_packet AS bytes"));
      this.#packetBytesMax = Number(Array.isArray(answer) ? (answer as readonly MysqlRow[])[0]?.bytes : 0);
      if (this.#o.soleName !== undefined) await this.#takeTurn(client, this.#o.soleName);
    } catch (error) {
      client.destroy();
      throw error;
    }
    return client;
  }

  /** Ends an earlier connection of this name, and waits until the server has rolled back what it did. */
  async #takeTurn(client: MysqlClient, name: string): Promise<void> {
    const one = async (sql: string, values: readonly MysqlValue[]) => {
      const answer = await this.#within(client, client.execute(sql, values));
      return Array.isArray(answer) ? (answer as readonly MysqlRow[])[0]?.one : undefined;
    };
    try {
      if ((await one("SELECT GET_LOCK(?, 0) AS one", [name])) === 1) return;
      const holder = await one("SELECT IS_USED_LOCK(?) AS one", [name]);
      if (typeof holder === "number") await one("KILL ?", [holder]).catch(() => undefined);
      if ((await one("SELECT GET_LOCK(?, ?) AS one", [name, databaseConnectMs / 1_000])) === 1) return;
    } catch (error) {
      // A cluster may have no such locks. Then only the server's own notice of a lost connection is there.
      if ((error as { detail?: { reason?: string } }).detail?.reason === "ER_NOT_SUPPORTED_YET") return;
      throw error;
    }
    throw new SaltworksError(
      "DATABASE_FAILED",
      `${this.place}: an earlier connection of this master has not ended yet`,
    );
  }

  async #within(client: MysqlClient, statement: Promise<readonly [MysqlAnswer, unknown]>): Promise<MysqlAnswer> {
    const { statementMs } = this.#o;
    try {
      const [answer] = await deadline(statement, statementMs, () => undefined);
      return answer;
    } catch (error) {
      const code = (error as { code?: unknown }).code;
      if (typeof code !== "string" || !answered.test(code) || (error as { fatal?: boolean }).fatal === true)
        this.#drop(client);
      throw mysqlError(error, this.place);
    }
  }

  #drop(client: MysqlClient): void {
    client.destroy();
    this.#opening = undefined;
  }
}

export function placeOf(config: DatabaseConfig): string {
  return `mysql://${config["mysql.host"]}:${config["mysql.port"]}/${config["mysql.db"]}`;
}

function optionsOf(config: DatabaseConfig): MysqlOptions {
  const tls = tlsOf(config);
  return {
    host: config["mysql.host"],
    port: config["mysql.port"],
    user: config["mysql.user"],
    password: config["mysql.pass"],
    database: config["mysql.db"],
    connectTimeout: databaseConnectMs,
    charset: "utf8mb4",
    dateStrings: true,
    maxPreparedStatements: 64,
    ...(tls === undefined ? {} : { ssl: tls }),
  };
}

function tlsOf(config: DatabaseConfig): MysqlTls | undefined {
  const read = (path: string | null) => (path === null || path === "" ? {} : { bytes: fileBytes(path) });
  const [ca, cert, key] = [config["mysql.ssl_ca"], config["mysql.ssl_cert"], config["mysql.ssl_key"]].map(read);
  if (ca?.bytes === undefined && cert?.bytes === undefined && key?.bytes === undefined) return undefined;
  return {
    ...(ca?.bytes === undefined ? {} : { ca: ca.bytes }),
    ...(cert?.bytes === undefined ? {} : { cert: cert.bytes }),
    ...(key?.bytes === undefined ? {} : { key: key.bytes }),
  };
}

function fileBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new SaltworksError("DATABASE_FAILED", `${path} cannot be read`, { path }, { cause: error });
  }
}
