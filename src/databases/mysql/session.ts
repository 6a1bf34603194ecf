/** One connection to MariaDB or MySQL. */
import { SaltworksError } from "../../errors.ts";
import { databaseConnectMs, databaseLockMs } from "../../limits.ts";
import type { DatabaseConfig } from "../contract/database.ts";
import { libraryConnectMs } from "../contract/deadline.ts";
import { type SessionOptions, SqlSession } from "../sql/session.ts";
import { tlsFileBytes } from "../sql/tls-file.ts";
import {
  connectMysql,
  type MysqlAnswer,
  type MysqlClient,
  type MysqlOptions,
  type MysqlRow,
  type MysqlTls,
  type MysqlValue,
} from "./client.ts";
import { answered, mysqlError, staleUntilReconnected } from "./errors.ts";

/** Truncation is an error, so that no row is stored otherwise than it was sent; and a backslash is what the client takes it for. */
const sessionModes = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION";
/** The server itself ends a wait for a lock and names the reason, before our deadline for the statement. */
const lockSeconds = databaseLockMs / 1_000;
const sessionSettings = `SET SESSION sql_mode = ?, lock_wait_timeout = ${lockSeconds}, innodb_lock_wait_timeout = ${lockSeconds}`;

export class MysqlSession extends SqlSession<MysqlClient, MysqlAnswer, MysqlValue> {
  readonly place: string;
  readonly #config: DatabaseConfig;
  #packetBytesMax = 0;

  constructor(config: DatabaseConfig, o: SessionOptions) {
    super(o);
    this.#config = config;
    this.place = placeOf(config);
  }

  /** The largest packet that the server takes, bytes. Known once connected. */
  async packetBytesMax(): Promise<number> {
    await this.connected();
    return this.#packetBytesMax;
  }

  /** Whether the server now takes larger packets than when this connection was opened. If so, the next statement connects anew. */
  async takesLargerPackets(): Promise<boolean> {
    const client = await this.connected();
    const [row] = await this.rows("SELECT @@global.max_allowed_packet AS bytes", []);
    const isLarger = Number(row?.bytes) > this.#packetBytesMax;
    if (isLarger) this.drop(client);
    return isLarger;
  }

  protected connect(): Promise<MysqlClient> {
    return connectMysql(optionsOf(this.#config));
  }

  protected async begin(client: MysqlClient): Promise<void> {
    // An error between two statements. The next statement fails, and the one after it connects anew.
    client.on("error", () => this.drop(client));
    await this.within(client, client.execute(sessionSettings, [sessionModes]));
    const [row] = this.rowsOf(await this.within(client, this.query(client, "SELECT @@max_allowed_packet AS bytes")));
    this.#packetBytesMax = Number(row?.bytes);
  }

  protected async takeTurn(client: MysqlClient, name: string): Promise<void> {
    const one = async (sql: string, values: readonly MysqlValue[]) =>
      this.rowsOf(await this.within(client, this.execute(client, sql, values)))[0]?.one;
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

  protected async execute(client: MysqlClient, sql: string, values: readonly MysqlValue[]): Promise<MysqlAnswer> {
    return (await client.execute(sql, values))[0];
  }

  protected async query(client: MysqlClient, sql: string): Promise<MysqlAnswer> {
    return (await client.query(sql))[0];
  }

  protected rowsOf(answer: MysqlAnswer): readonly MysqlRow[] {
    return Array.isArray(answer) ? answer : [];
  }

  protected destroy(client: MysqlClient): void {
    client.destroy();
  }

  protected isAnswer(error: unknown): boolean {
    const { code, fatal } = error as { code?: unknown; fatal?: boolean };
    return typeof code === "string" && answered.test(code) && fatal !== true && !staleUntilReconnected.has(code);
  }

  protected errorOf(error: unknown): SaltworksError {
    return mysqlError(error, this.place);
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
    connectTimeout: libraryConnectMs(databaseConnectMs),
    charset: "utf8mb4",
    dateStrings: true,
    maxPreparedStatements: 64,
    ...(tls === undefined ? {} : { ssl: tls }),
  };
}

function tlsOf(config: DatabaseConfig): MysqlTls | undefined {
  const read = (path: string | null) => (path === null || path === "" ? {} : { bytes: tlsFileBytes(path) });
  const [ca, cert, key] = [config["mysql.ssl_ca"], config["mysql.ssl_cert"], config["mysql.ssl_key"]].map(read);
  if (ca?.bytes === undefined && cert?.bytes === undefined && key?.bytes === undefined) return undefined;
  return {
    ...(ca?.bytes === undefined ? {} : { ca: ca.bytes }),
    ...(cert?.bytes === undefined ? {} : { cert: cert.bytes }),
    ...(key?.bytes === undefined ? {} : { key: key.bytes }),
  };
}
