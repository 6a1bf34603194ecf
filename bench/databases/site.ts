/** The MariaDB server of a bench, as large as an operator's, and what the benches ask it. */
import { setTimeout as wait } from "node:timers/promises";
import { openDatabase } from "../../src/databases/registry.ts";
import { SaltworksError } from "../../src/errors.ts";
import { MariadbServer, mariadbMissing } from "../../test/databases/mariadb.ts";
import { cpuTimeMs } from "../cpu-time.ts";

/**
 * Its memory holds all that a bench writes, so that the disk's random reads do not limit it. Each commit is synced, which is the server's default, and
 * what an operator wants.
 */
const serverSettings = ["--innodb-buffer-pool-size=2G", "--innodb-log-file-size=1G"];
const pollMs = 200;
const copiedTimeoutMs = 120_000;

export class DatabaseSite {
  readonly server: MariadbServer;

  private constructor(server: MariadbServer) {
    this.server = server;
  }

  /** Starts a server with a database of Salt's tables for each name. @throws SaltworksError USAGE if there is no MariaDB */
  static async open(names: readonly string[]): Promise<DatabaseSite> {
    const missing = mariadbMissing();
    if (missing !== undefined) throw new SaltworksError("USAGE", missing);
    const server = await MariadbServer.start(serverSettings);
    for (const name of names) {
      server.sql(`CREATE DATABASE IF NOT EXISTS ${name} CHARACTER SET utf8mb4`);
      server.sql(`GRANT ALL ON ${name}.* TO '${server.user}'@'%'`);
      const database = openDatabase(server.config({ "mysql.db": name }), "mysql");
      await database.createSchema();
      await database.close();
    }
    return new DatabaseSite(server);
  }

  /** The master's configuration, ours and Salt's. `port`: of something in between. */
  configOf(name: string, port: number = this.server.port): Readonly<Record<string, unknown>> {
    return { master_job_cache: "mysql", ...this.server.options(port), "mysql.db": name };
  }

  /** CPU time of the server so far, milliseconds. */
  cpuMs(): number {
    const { processId } = this.server;
    return processId === undefined ? 0 : cpuTimeMs(processId);
  }

  /** Resolves when each of the jobs has `count` rows. @throws SaltworksError FUNCTION_FAILED if one is missing or there twice */
  async untilCopied(name: string, jids: readonly string[], count: number): Promise<void> {
    const where = `FROM ${name}.salt_returns WHERE jid IN (${jids.map((jid) => `'${jid}'`).join(", ")})`;
    const endMs = performance.now() + copiedTimeoutMs;
    const rowCount = () => Number(this.server.sql(`SELECT COUNT(*) ${where}`)[0]);
    while (rowCount() < jids.length * count) {
      if (performance.now() > endMs)
        throw new SaltworksError("FUNCTION_FAILED", `${name}: ${rowCount()} of ${jids.length * count} rows came`);
      await wait(pollMs);
    }
    this.demandOnce(name, jids.length * count, where);
  }

  /** @throws SaltworksError FUNCTION_FAILED if other than `count` rows of returns are there, each once */
  demandOnce(name: string, count: number, where = `FROM ${name}.salt_returns`): void {
    const [rows = "", distinct = ""] = this.server.sql(
      `SELECT COUNT(*) ${where}; SELECT COUNT(DISTINCT jid, id) ${where}`,
    );
    if (Number(rows) === count && Number(distinct) === count) return;
    throw new SaltworksError(
      "FUNCTION_FAILED",
      `${name}: ${rows} rows, ${distinct} of them different, instead of ${count}`,
    );
  }

  close(): Promise<void> {
    return this.server.remove();
  }
}
