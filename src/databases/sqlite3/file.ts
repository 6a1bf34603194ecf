/** A file of SQLite: it is opened at the first statement, closed at the first fault, and opened anew by the next statement. */
import { chownSync, closeSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { SaltworksError } from "../../errors.ts";
import { databaseStatementMs } from "../../limits.ts";
import type { DatabaseConfig } from "../contract/database.ts";
import { openSqlite, type SqliteClient, type SqliteStatement } from "./client.ts";
import { isBusy, isRefusal, sqliteError } from "./errors.ts";

/** How long SQLite itself waits for another program, milliseconds. The thread does nothing else meanwhile, so the rest of the wait is spent outside. */
const busyMs = 250;
const betweenTriesMs = 20;
/** Returns may hold secrets. */
const newFileMode = 0o600;

type Opened = {
  readonly client: SqliteClient;
  readonly inode: bigint;
  readonly statements: Map<string, SqliteStatement>;
};

/** Statements on an open file. Each is prepared once. */
export type SqliteStatements = (sql: string) => SqliteStatement;

export class SqliteFile {
  readonly place: string;
  readonly #path: string;
  readonly #waitMs: number;
  #opened: Opened | undefined;

  constructor(config: Pick<DatabaseConfig, "sqlite3.database" | "sqlite3.timeout">) {
    this.place = placeOf(config);
    this.#path = config["sqlite3.database"];
    this.#waitMs = Math.min(config["sqlite3.timeout"] * 1_000, databaseStatementMs);
  }

  /** Runs statements, again while another program holds the file. @throws SaltworksError DATABASE_FAILED, DATABASE_REFUSED */
  async run<Result>(step: (prepared: SqliteStatements) => Result): Promise<Result> {
    const endMs = performance.now() + this.#waitMs;
    for (;;) {
      try {
        return step(this.#statements(this.#open()));
      } catch (error) {
        const canGoOn = isBusy(error) || isRefusal(error);
        if (!canGoOn) this.close();
        if (!isBusy(error) || performance.now() >= endMs) throw sqliteError(error, this.place);
      }
      await delay(betweenTriesMs);
    }
  }

  /** As `run`, in a transaction that writes. After a fault nothing of it is kept. */
  async transaction<Result>(step: (prepared: SqliteStatements) => Result): Promise<Result> {
    return await this.run((prepared) => {
      prepared("BEGIN IMMEDIATE").run();
      try {
        const result = step(prepared);
        prepared("COMMIT").run();
        return result;
      } catch (error) {
        // After any other fault `run` closes the file, which undoes the transaction.
        if (isBusy(error) || isRefusal(error)) prepared("ROLLBACK").run();
        throw error;
      }
    });
  }

  /** Makes an empty file if there is none. It belongs to the owner of its directory, because an operator may run this as root. */
  make(): void {
    try {
      closeSync(openSync(this.#path, "wx", newFileMode));
      const { uid, gid } = statSync(dirname(this.#path));
      if (process.getuid?.() === 0) chownSync(this.#path, uid, gid);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw sqliteError(error, this.place);
    }
  }

  close(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    opened?.client.close();
  }

  /** Opens the file anew if another one has its place: rows for the former one would be lost. */
  #open(): Opened {
    const found = statSync(this.#path, { bigint: true, throwIfNoEntry: false });
    if (found === undefined)
      throw new SaltworksError(
        "DATABASE_FAILED",
        `${this.place}: there is no such file: make it with \`saltworks run jobs.create_schema\``,
      );
    if (this.#opened?.inode !== found.ino) this.close();
    if (this.#opened === undefined) {
      const client = openSqlite(this.#path);
      this.#opened = { client, inode: found.ino, statements: new Map() };
      client.exec(`PRAGMA busy_timeout = ${Math.min(busyMs, this.#waitMs)}`);
    }
    return this.#opened;
  }

  #statements({ client, statements }: Opened): SqliteStatements {
    return (sql) => {
      const known = statements.get(sql) ?? client.prepare(sql);
      statements.set(sql, known);
      return known;
    };
  }
}

export function placeOf(config: Pick<DatabaseConfig, "sqlite3.database">): string {
  return `sqlite3:${config["sqlite3.database"]}`;
}
