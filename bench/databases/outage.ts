/** A database of each driver that a bench takes away and brings back, as large and as durable as an operator's. */
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadMasterConfig } from "../../src/config/load.ts";
import type { DatabaseName } from "../../src/config/options/job-cache-drivers.ts";
import type { PostgresName } from "../../src/databases/postgres/settings.ts";
import { openDatabase } from "../../src/databases/registry.ts";
import { openSqlite } from "../../src/databases/sqlite3/client.ts";
import { SaltworksError } from "../../src/errors.ts";
import { PostgresServer, postgresMissing } from "../../test/databases/postgresql.ts";
import { RedisServer } from "../../test/databases/redis-server.ts";
import { cpuTimeMs } from "../cpu-time.ts";
import { DatabaseSite } from "./site.ts";

export type OutageSite = {
  readonly driver: DatabaseName;
  /** The master's options. */
  readonly config: Readonly<Record<string, unknown>>;
  stop(): Promise<void>;
  /** Brings the database back with all that it had. */
  run(): Promise<void>;
  /** CPU time of the server so far, milliseconds; 0 where the master's own thread is the server. */
  cpuMs(): number;
  /** Rows of returns, and how many of them are of different jobs or minions. */
  count(): { readonly rows: number; readonly distinct: number };
  close(): Promise<void>;
};

const mysqlName = "ours";
const countRows = "SELECT COUNT(*) FROM salt_returns";
const countDistinct = "SELECT COUNT(*) FROM (SELECT DISTINCT jid, id FROM salt_returns) AS distinct_rows";
/** As `DatabaseSite` sets MariaDB: memory for all that a bench writes, and a sync for each commit. */
const postgresSettings = { fsync: "on", shared_buffers: "2GB", max_wal_size: "4GB" };
const countInRedis =
  "local n = 0 for _, key in ipairs(redis.call('KEYS', 'ret:*')) do n = n + redis.call('HLEN', key) end return n";

const openers: Readonly<Record<DatabaseName, () => Promise<OutageSite>>> = {
  mysql: openMysql,
  pgjsonb: () => openPostgres("pgjsonb"),
  postgres: () => openPostgres("postgres"),
  redis: openRedis,
  sqlite3: openSqliteFile,
};

/** @throws SaltworksError USAGE for a name that no driver has, or if its server is not installed */
export async function openOutageSite(name: string): Promise<OutageSite> {
  const names = Object.keys(openers) as DatabaseName[];
  const known = names.find((one) => one === name);
  if (known === undefined) throw new SaltworksError("USAGE", `--database takes ${names.join(", ")}, not ${name}`);
  return await openers[known]();
}

/** @throws SaltworksError FUNCTION_FAILED if other than `count` returns are there, each once */
export function demandOnce(site: OutageSite, count: number): void {
  const { rows, distinct } = site.count();
  if (rows === count && distinct === count) return;
  throw new SaltworksError("FUNCTION_FAILED", `${rows} rows, ${distinct} of them different, instead of ${count}`);
}

async function openMysql(): Promise<OutageSite> {
  const site = await DatabaseSite.open([mysqlName]);
  return {
    driver: "mysql",
    config: site.configOf(mysqlName),
    stop: () => site.server.kill("SIGTERM"),
    run: () => site.server.run(),
    cpuMs: () => site.cpuMs(),
    count: () => countsOf(site.server.sql(`USE ${mysqlName}; ${countRows}; ${countDistinct}`)),
    close: () => site.close(),
  };
}

async function openPostgres(name: PostgresName): Promise<OutageSite> {
  const missing = postgresMissing();
  if (missing !== undefined) throw new SaltworksError("USAGE", missing);
  const server = await PostgresServer.start(postgresSettings);
  const database = openDatabase(server.config(name), name);
  await database.createSchema();
  await database.close();
  return {
    driver: name,
    config: { master_job_cache: name, ...server.options(name) },
    stop: () => server.kill(),
    run: () => server.run(),
    cpuMs: () => cpuOf(server.processId),
    count: () => countsOf([countRows, countDistinct].flatMap((query) => server.sqlOf(name, query))),
    close: () => server.remove(),
  };
}

async function openRedis(): Promise<OutageSite> {
  const server = await RedisServer.start();
  return {
    driver: "redis",
    config: { master_job_cache: "redis", ...server.options() },
    stop: () => server.service.kill("SIGTERM"),
    run: () => server.run(),
    cpuMs: () => cpuOf(server.service.processId()),
    // A hash holds each minion of a job once.
    count: () => countsOf([...server.command("EVAL", countInRedis, "0"), ...server.command("EVAL", countInRedis, "0")]),
    close: () => server.service.close(),
  };
}

/** Its outage is a file that is elsewhere, as on a disk that is not mounted. */
async function openSqliteFile(): Promise<OutageSite> {
  const directory = mkdtempSync(join(tmpdir(), "sw-sqlite-"));
  const [path, elsewhere] = [join(directory, "jobs.db"), join(directory, "elsewhere.db")];
  const config = { master_job_cache: "sqlite3", "sqlite3.database": path };
  const database = openDatabase(loadMasterConfig(directory, { ...config, root_dir: directory }), "sqlite3");
  await database.createSchema();
  await database.close();
  return {
    driver: "sqlite3",
    config,
    stop: async () => renameSync(path, elsewhere),
    run: async () => renameSync(elsewhere, path),
    cpuMs: () => 0,
    count: () => {
      const client = openSqlite(path);
      try {
        const texts = [countRows, countDistinct].map((query) => Object.values(client.prepare(query).all()[0] ?? {})[0]);
        return countsOf(texts.map(String));
      } finally {
        client.close();
      }
    },
    close: async () => rmSync(directory, { recursive: true, force: true }),
  };
}

function countsOf([rows, distinct]: readonly string[]) {
  return { rows: Number(rows), distinct: Number(distinct) };
}

function cpuOf(processId: number | undefined): number {
  return processId === undefined ? 0 : cpuTimeMs(processId);
}
