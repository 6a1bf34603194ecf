/** A MariaDB server of a test's own: on loopback, with a private data directory, a free port and an unprivileged user. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../bench/free-ports.ts";
import { loadMasterConfig, type MasterConfig, type Overrides } from "../../src/config/load.ts";
import type { MysqlOptions } from "../../src/databases/mysql/client.ts";

const unprivileged = "nobody";
const startMsMax = 120_000;
const lookMs = 25;
/** The server listens in the directories of Debian's package, which are not in every PATH. */
const serverFile = ["/usr/sbin/mariadbd", "/usr/sbin/mysqld"].find(existsSync);

/** Why no server can be started here; undefined if one can. With CI=true tests never skip, so they fail instead. */
export function mariadbMissing(): string | undefined {
  if (process.env.CI === "true") return undefined;
  if (serverFile === undefined) return "MariaDB is not installed (apt-get install mariadb-server)";
  try {
    createRequire(import.meta.url).resolve("mysql2");
    return undefined;
  } catch {
    return "the package mysql2 is not installed";
  }
}

export type MysqlOptionsOfTest = Readonly<Record<`mysql.${string}`, string | number>>;

export class MariadbServer {
  readonly port: number;
  readonly user = "salt";
  readonly password = "s3cret-of-the-database";
  readonly #directory: string;
  readonly #settings: readonly string[];
  #process: ChildProcess | undefined;

  private constructor(directory: string, port: number, settings: readonly string[]) {
    this.#directory = directory;
    this.port = port;
    this.#settings = settings;
  }

  /**
   * Makes the data directory, starts the server and makes an empty database `salt` with its user.
   *
   * @param settings options of the server's command line, after those of this file
   * @param parent the directory in which the server's own is made
   */
  static async start(settings: readonly string[] = [], parent = tmpdir()): Promise<MariadbServer> {
    const directory = mkdtempSync(join(parent, "sw-mariadb-"));
    chmodSync(directory, 0o755);
    const data = join(directory, "data");
    mkdirSync(data);
    if (isRoot()) execFileSync("chown", ["-R", unprivileged, directory]);
    const installing = [
      "--no-defaults",
      `--datadir=${data}`,
      "--auth-root-authentication-method=normal",
      "--skip-test-db",
    ];
    execFileSync("mariadb-install-db", [...installing, ...asUser()], { stdio: "ignore" });
    const server = new MariadbServer(directory, await freePort(), settings);
    try {
      await server.run();
      server.sql("CREATE DATABASE salt CHARACTER SET utf8mb4");
      server.sql(`CREATE USER '${server.user}'@'%' IDENTIFIED BY '${server.password}'`);
      server.sql(`GRANT ALL ON salt.* TO '${server.user}'@'%'`);
    } catch (error) {
      await server.remove();
      throw error;
    }
    return server;
  }

  /** The master's options for this server. `port`: of something in between. */
  options(port: number = this.port): MysqlOptionsOfTest {
    const account = { "mysql.user": this.user, "mysql.pass": this.password, "mysql.db": "salt" };
    return { "mysql.host": "127.0.0.1", "mysql.port": port, ...account };
  }

  config(more: Overrides = {}): MasterConfig {
    const place = { root_dir: this.#directory, id: "the_master" };
    return loadMasterConfig(join(this.#directory, "none"), { ...place, ...this.options(), ...more });
  }

  /** For a connection of the test's own. */
  clientOptions(): MysqlOptions {
    const account = { user: this.user, password: this.password, database: "salt" };
    const settings = { connectTimeout: startMsMax, charset: "utf8mb4", dateStrings: true, maxPreparedStatements: 16 };
    return { host: "127.0.0.1", port: this.port, ...account, ...settings };
  }

  /** Starts the server on its data, also after `kill`, and waits until it answers. */
  async run(): Promise<void> {
    const logFile = join(this.#directory, "log");
    const log = openSync(logFile, "a");
    const ended = spawn(
      serverFile ?? "mariadbd",
      [
        ...["--no-defaults", `--datadir=${join(this.#directory, "data")}`, `--socket=${this.#socket}`],
        ...["--bind-address=127.0.0.1", `--port=${this.port}`, `--pid-file=${join(this.#directory, "pid")}`],
        ...[
          "--skip-name-resolve",
          "--innodb-buffer-pool-size=32M",
          "--max-allowed-packet=64M",
          "--performance-schema=OFF",
        ],
        ...this.#settings,
        ...asUser(),
      ],
      { stdio: ["ignore", "ignore", log] },
    );
    closeSync(log);
    this.#process = ended;
    const endMs = performance.now() + startMsMax;
    for (;;) {
      try {
        this.sql("SELECT 1");
        return;
      } catch (error) {
        if (performance.now() > endMs || ended.exitCode !== null) {
          throw new Error(`MariaDB does not start:\n${readFileSync(logFile, "utf8")}`, { cause: error });
        }
        await new Promise((resolve) => setTimeout(resolve, lookMs));
      }
    }
  }

  /** Runs statements as the server's root. @returns the rows, a line each, columns separated by tabs */
  sql(statements: string): string[] {
    const login = [
      "--no-defaults",
      `--socket=${this.#socket}`,
      "--user=root",
      "--batch",
      "--skip-column-names",
      "--raw",
    ];
    const text = execFileSync("mariadb", [...login, "--default-character-set=utf8mb4"], {
      input: statements,
      encoding: "utf8",
      stdio: ["pipe", "pipe", "pipe"],
    });
    return text.split("\n").slice(0, -1);
  }

  /** What an operator's `mariadb` shows, without `sql`'s flags: with `\G` at the end a line for each column. */
  shown(statement: string): string {
    const login = ["--no-defaults", `--socket=${this.#socket}`, "--user=root", "--default-character-set=utf8mb4"];
    return execFileSync("mariadb", [...login, "--execute", statement], { encoding: "utf8" });
  }

  /** Changes the password of the user on the server, and ends its connections. */
  setPassword(password: string): void {
    const connections = `SELECT id FROM information_schema.processlist WHERE user = '${this.user}'`;
    const kill = (id: string) => `KILL ${id};`;
    this.sql(`ALTER USER '${this.user}'@'%' IDENTIFIED BY '${password}'`);
    this.sql(this.sql(connections).map(kill).join(""));
  }

  get processId(): number | undefined {
    return this.#process?.pid;
  }

  /** The server has ended, whether it was told to or not. */
  get hasEnded(): boolean {
    const child = this.#process;
    return child === undefined || child.exitCode !== null || child.signalCode !== null;
  }

  count(table: string): number {
    return Number(this.sql(`SELECT COUNT(*) FROM salt.${table}`)[0]);
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#process;
    const hasEnded = this.hasEnded;
    this.#process = undefined;
    if (child === undefined || hasEnded) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await ended;
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  get #socket(): string {
    return join(this.#directory, "socket");
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function asUser(): string[] {
  return isRoot() ? [`--user=${unprivileged}`] : [];
}
