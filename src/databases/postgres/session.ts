/** One connection to PostgreSQL. */
import { createHash } from "node:crypto";
import { SaltworksError } from "../../errors.ts";
import { databaseConnectMs, databaseLockMs } from "../../limits.ts";
import { type SessionOptions, SqlSession } from "../sql/session.ts";
import {
  isWithoutTls,
  newPostgresClient,
  type PostgresAnswer,
  type PostgresClient,
  type PostgresRow,
  type PostgresTls,
  type PostgresValue,
} from "./client.ts";
import { isAnswer, postgresError } from "./errors.ts";
import { optionsOf, type PostgresSettings, placeOf, tlsOf } from "./settings.ts";

/** How much earlier than we the server ends a statement, milliseconds. */
const serverFirstMs = 1_000;
/** Statements that a connection prepares. Statements that run seldom come last, and are not prepared over it. */
const preparedMax = 64;

export class PostgresSession extends SqlSession<PostgresClient, PostgresAnswer, PostgresValue> {
  readonly place: string;
  readonly #settings: PostgresSettings;
  readonly #statementMs: number;
  /** Names of prepared statements by their text. */
  readonly #names = new Map<string, string>();

  constructor(settings: PostgresSettings, o: SessionOptions) {
    super({ ...o, connectMs: settings.connectMs });
    this.#settings = settings;
    this.#statementMs = o.statementMs;
    this.place = placeOf(settings);
  }

  protected async connect(): Promise<PostgresClient> {
    const [first = false, second] = tlsOf(this.#settings);
    try {
      return await this.#connectBy(first);
    } catch (error) {
      if (second === undefined || !isWithoutTls(error)) throw error;
      return await this.#connectBy(second);
    }
  }

  /**
   * The server gives up on a statement and on a lock before we do, and names the reason. It does not notice a closed connection while it waits for a
   * lock. Times are read and written in one form, whatever the server's configuration says.
   */
  protected async begin(client: PostgresClient): Promise<void> {
    const statementMs = Math.max(1, this.#statementMs - serverFirstMs);
    const settings = `SET statement_timeout = ${statementMs}; SET lock_timeout = ${databaseLockMs}; SET DateStyle = 'ISO'`;
    await this.within(client, this.query(client, settings));
  }

  protected async takeTurn(client: PostgresClient, name: string): Promise<void> {
    const key = lockKey(name);
    const run = (sql: string) => this.within(client, this.execute(client, sql, [key]));
    const tried = await run("SELECT pg_try_advisory_lock($1::bigint) AS taken");
    if (tried.rows[0]?.taken === "t") return;
    await run(
      "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 " +
        "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) " +
        "AND classid = (($1::bigint >> 32) & 4294967295)::oid AND objid = ($1::bigint & 4294967295)::oid",
    );
    try {
      await this.within(client, this.query(client, `SET lock_timeout = ${databaseConnectMs}`));
      await run("SELECT pg_advisory_lock($1::bigint)");
      await this.within(client, this.query(client, `SET lock_timeout = ${databaseLockMs}`));
    } catch (error) {
      if ((error as { detail?: { reason?: string } }).detail?.reason !== "55P03") throw error;
      const why = "an earlier connection of this master has not ended yet";
      throw new SaltworksError("DATABASE_FAILED", `${this.place}: ${why}`, {}, { cause: error });
    }
  }

  protected execute(client: PostgresClient, text: string, values: readonly PostgresValue[]): Promise<PostgresAnswer> {
    const name = this.#names.get(text) ?? (this.#names.size < preparedMax ? preparedName(text) : undefined);
    if (name === undefined) return client.query({ text, values });
    this.#names.set(text, name);
    return client.query({ name, text, values });
  }

  protected query(client: PostgresClient, sql: string): Promise<PostgresAnswer> {
    return client.query(sql);
  }

  protected rowsOf({ rows }: PostgresAnswer): readonly PostgresRow[] {
    return rows;
  }

  protected destroy(client: PostgresClient): void {
    client.connection.stream.destroy();
  }

  protected isAnswer(error: unknown): boolean {
    return isAnswer(error);
  }

  protected errorOf(error: unknown): SaltworksError {
    return postgresError(error, this.#settings);
  }

  async #connectBy(tls: PostgresTls | false): Promise<PostgresClient> {
    const client = newPostgresClient(optionsOf(this.#settings, tls));
    client.on("error", () => this.drop(client));
    await client.connect();
    return client;
  }
}

/** The server's locks have numbers of 64 bits for names. */
function lockKey(name: string): string {
  return String(createHash("sha256").update(name).digest().readBigInt64BE());
}

/** One name means one text on every connection, also where a pooler hands the connections on. */
function preparedName(text: string): string {
  return `sw_${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;
}
