/** A PostgreSQL server of a test's own: an account with a password, and a database for each driver. */
import { execFileSync } from "node:child_process";
import { chownSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { loadMasterConfig, type MasterConfig, type Overrides } from "../../src/config/load.ts";
import type { PostgresName } from "../../src/databases/postgres/settings.ts";
import { type Service, skipWithout, startPostgreSql } from "../services/service.ts";
import { certificate } from "../services/sink.ts";

const startMsMax = 30_000;
const lookMs = 25;
/** Databases by driver. One has the collation of a language, in which the order of texts is not that of their bytes. */
const databases: Readonly<Record<PostgresName, string>> = { postgres: "plain", pgjsonb: "salt" };

/** Why no server can be started here; undefined if one can. With CI=true tests never skip, so they fail instead. */
export function postgresMissing(): string | undefined {
  if (process.env.CI === "true") return undefined;
  const missing = skipWithout("postgres", "psql");
  if (missing !== false) return missing;
  try {
    createRequire(import.meta.url).resolve("pg");
    return undefined;
  } catch {
    return "the package pg is not installed";
  }
}

export class PostgresServer {
  readonly user = "salt";
  readonly password = "s3cret-of-the-database";
  readonly #service: Service;

  private constructor(service: Service) {
    this.#service = service;
  }

  static async start(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
    const service = await startPostgreSql({ passwords: true, settings });
    const server = new PostgresServer(service);
    try {
      await server.#untilReady();
      server.sql(`CREATE ROLE ${server.user} LOGIN PASSWORD '${server.password}'`, "postgres");
      server.sql(`CREATE DATABASE plain OWNER ${server.user}`, "postgres");
      server.sql(
        `CREATE DATABASE salt OWNER ${server.user} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`,
        "postgres",
      );
    } catch (error) {
      await service.close();
      throw error;
    }
    return server;
  }

  get port(): number {
    return this.#service.port;
  }

  get processId(): number | undefined {
    return this.#service.processId();
  }

  /** The master's options for this server. `port`: of something in between. */
  options(name: PostgresName, port: number = this.port): Readonly<Record<string, string | number>> {
    const secret = name === "postgres" ? "passwd" : "pass";
    return Object.fromEntries(
      Object.entries({
        ...{ host: "127.0.0.1", port, user: this.user, [secret]: this.password, db: databases[name] },
      }).map(([option, value]) => [`returner.${name}.${option}`, value]),
    );
  }

  config(name: PostgresName, more: Overrides = {}): MasterConfig {
    const { directory } = this.#service;
    const place = { root_dir: directory, id: "the_master" };
    return loadMasterConfig(join(directory, "none"), { ...place, ...this.options(name), ...more });
  }

  /** Runs statements as the server's superuser. @returns the rows, a line each, columns separated by tabs */
  sql(statements: string, database: string = databases.pgjsonb): string[] {
    const login = ["-h", this.#service.directory, "-p", String(this.port), "-U", "postgres", "-d", database];
    const settings = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--field-separator=\t"];
    const text = execFileSync("psql", [...login, ...settings, "--set=ON_ERROR_STOP=1", "--file=-"], {
      input: statements,
      encoding: "utf8",
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, PGCLIENTENCODING: "UTF8" },
    });
    return text.split("\n").slice(0, -1);
  }

  /** In the database of a driver. */
  sqlOf(name: PostgresName, statements: string): string[] {
    return this.sql(statements, databases[name]);
  }

  count(name: PostgresName, table: string): number {
    return Number(this.sqlOf(name, `SELECT count(*) FROM ${table}`)[0]);
  }

  kill(): Promise<void> {
    return this.#service.kill();
  }

  /** Starts it again on its data, and waits until it has recovered. */
  async run(): Promise<void> {
    await this.#service.run();
    await this.#untilReady();
  }

  /** Turns TLS on. @returns the file of the certificate */
  async secure(): Promise<string> {
    const { directory } = this.#service;
    const { key, cert } = certificate();
    const [keyPath, certPath] = [join(directory, "data/server.key"), join(directory, "data/server.crt")];
    writeFileSync(keyPath, key, { mode: 0o600 });
    writeFileSync(certPath, cert);
    const owner = 65_534;
    if (process.getuid?.() === 0) for (const path of [keyPath, certPath]) chownSync(path, owner, owner);
    this.sql("ALTER SYSTEM SET ssl = on; SELECT pg_reload_conf()");
    await this.#until(() => this.sql("SHOW ssl")[0] === "on");
    return certPath;
  }

  remove(): Promise<void> {
    return this.#service.close();
  }

  #untilReady(): Promise<void> {
    return this.#until(() => this.sql("SELECT 1", "postgres").length === 1);
  }

  async #until(isDone: () => boolean): Promise<void> {
    const endMs = performance.now() + startMsMax;
    for (;;) {
      try {
        if (isDone()) return;
      } catch (error) {
        if (performance.now() > endMs) throw error;
      }
      if (performance.now() > endMs) throw new Error("PostgreSQL does not get ready");
      await delay(lookMs);
    }
  }
}
