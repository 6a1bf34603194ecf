/** Migrations of jobs by a master that is killed on the way, and the comparison of what came out with what was there. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { dispatch } from "../../../src/cli/dispatch.ts";
import { ownUserName } from "../../../src/config/host/user.ts";
import { loadMasterConfig } from "../../../src/config/load.ts";
import type { DatabaseName } from "../../../src/config/options/job-cache-drivers.ts";
import { openDatabase } from "../../../src/databases/registry.ts";
import { openSqlite } from "../../../src/databases/sqlite3/client.ts";
import { driverOf } from "../../../src/store/drivers/registry.ts";
import { allReturns } from "../../../src/store/jobs/job-cache.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { TestHost } from "../../cli/test-host.ts";
import { MariadbServer } from "../../databases/mariadb.ts";
import { PostgresServer } from "../../databases/postgresql.ts";
import { RedisServer } from "../../databases/redis-server.ts";
import { plain } from "../../plain.ts";
import { startOurMaster } from "../our-master.ts";
import type { CliResult } from "../run-cli.ts";

export type Summary = {
  readonly State: string;
  readonly Resumed: boolean;
  readonly "Jobs-read": number;
  readonly "Jobs-written": number;
  readonly "Returns-written": number;
  readonly "Already-there": number;
  readonly Skipped: number;
  readonly "Skipped-first"?: readonly string[];
  readonly Seconds: number;
  readonly "Rows-per-second": number;
  readonly retcode?: number;
};
/** What a job must have in any job cache. */
export type ExpectedJob = { readonly jid: string; readonly returns: Readonly<Record<string, unknown>> };

/** Between two looks at the mark, milliseconds. A batch takes longer. */
const markEveryMs = 2;
const jidsAtOnce = 1_000;

/** The databases of this version of Node.js. */
export const migratedDatabases: readonly DatabaseName[] = [
  ...(["mysql", "pgjsonb", "postgres", "redis"] as const),
  ...(isBuiltin("node:sqlite") ? (["sqlite3"] as const) : []),
];

/** A master to which all databases are configured, none of them as its job cache. */
export class MigrationSite {
  readonly mariadb: MariadbServer;
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  readonly master: MasterProcess;

  private constructor(mariadb: MariadbServer, postgres: PostgresServer, redis: RedisServer, master: MasterProcess) {
    this.mariadb = mariadb;
    this.postgres = postgres;
    this.redis = redis;
    this.master = master;
  }

  static async open(more: Readonly<Record<string, unknown>> = {}): Promise<MigrationSite> {
    const [mariadb, postgres, redis] = await Promise.all([
      MariadbServer.start(),
      PostgresServer.start(),
      RedisServer.start(),
    ]);
    const master = await startOurMaster(10, {
      ...{ ...mariadb.options(), ...postgres.options("postgres"), ...postgres.options("pgjsonb"), ...redis.options() },
      ...{
        "sqlite3.database": join(redis.service.directory, "jobs.db"),
        keep_jobs_seconds: 0,
        // The calls of these tests would be jobs, too.
        ...{ job_cache: false, ...more },
      },
    });
    return new MigrationSite(mariadb, postgres, redis, master);
  }

  async close(): Promise<void> {
    await this.master.remove();
    await Promise.all([this.mariadb.remove(), this.postgres.remove(), this.redis.service.close()]);
  }

  /** Our command in this process, because starting one takes a second. */
  async run(...words: readonly string[]): Promise<CliResult> {
    const host = new TestHost();
    host.user = ownUserName();
    const exitCode = await dispatch(["run", "-c", this.master.configDirectory, ...words, "--out", "json"], host);
    return { exitCode, stdout: host.out, stderr: host.err };
  }

  /** Starts the master again with further options. */
  async restartWith(more: Readonly<Record<string, unknown>>): Promise<void> {
    const path = join(this.master.configDirectory, "master");
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...more }));
    await this.master.kill();
    await this.master.restart();
  }

  /** To its end. The command must say by its exit code whether something was skipped. */
  async migrate(from: string, to: string, ...login: readonly string[]): Promise<Summary> {
    const { exitCode, stdout, stderr } = await this.run(...login, "jobs.migrate", `from=${from}`, `to=${to}`);
    assert.match(stdout, /^\{/, stderr);
    const summary = JSON.parse(stdout) as Summary;
    assert.deepEqual([exitCode, summary.retcode ?? 0], summary.Skipped > 0 ? [1, 1] : [0, 0], stderr);
    assert.equal(/The copy is not complete: \d+ skipped/.test(stderr), summary.Skipped > 0, stderr);
    return summary;
  }

  /** Kills the master as soon as its mark says that `afterJobs` jobs are in the target. @returns whether the migration was under way */
  async migrateAndKill(from: string, to: string, afterJobs: number): Promise<boolean> {
    let hasEnded = false;
    const migrating = this.run("jobs.migrate", `from=${from}`, `to=${to}`).finally(() => {
      hasEnded = true;
    });
    const ended = migrating.catch(() => undefined);
    while (!hasEnded && this.#passed(from, to) < afterJobs) await delay(markEveryMs);
    const isUnderWay = this.#passed(from, to) >= afterJobs;
    await this.master.kill();
    await ended;
    await this.master.restart();
    return isUnderWay;
  }

  #passed(from: string, to: string): number {
    try {
      const text = readFileSync(join(this.master.cacheDirectory, "migrations", `${from}-${to}.json`), "utf8");
      return (JSON.parse(text) as { counts: { passed: number } }).counts.passed;
    } catch {
      return 0;
    }
  }

  /** How many rows of jobs and returns a database holds, counted by its own program. */
  rows(name: DatabaseName): readonly [jobs: number, returns: number] {
    switch (name) {
      case "mysql":
        return [this.mariadb.count("jids"), this.mariadb.count("salt_returns")];
      case "pgjsonb":
      case "postgres":
        return [this.postgres.count(name, "jids"), this.postgres.count(name, "salt_returns")];
      case "redis":
        return [this.#redisCount("load:*", "1"), this.#redisCount("ret:*", "redis.call('HLEN', key)")];
      default: {
        const client = openSqlite(join(this.redis.service.directory, "jobs.db"));
        const count = (table: string) => Number(client.prepare(`SELECT COUNT(*) AS n FROM ${table}`).all()[0]?.n);
        const counts = [count("jids"), count("salt_returns")] as const;
        client.close();
        return counts;
      }
    }
  }

  #redisCount(pattern: string, each: string): number {
    const script = `local n = 0 for _, key in ipairs(redis.call('KEYS', '${pattern}')) do n = n + ${each} end return n`;
    return Number(this.redis.command("EVAL", script, "0")[0]);
  }

  /** Compares every job and return with what was there. */
  async compare(name: DatabaseName | "lmdb", expected: readonly ExpectedJob[]): Promise<void> {
    const config = loadMasterConfig(this.master.configDirectory);
    const database = name === "lmdb" ? undefined : openDatabase(config, name);
    const store = database?.reader ?? driverOf({ master_job_cache: "lmdb" }).open(config, { isReadOnly: true });
    const walk = driverOf({ master_job_cache: "lmdb" }).openWalk(config);
    try {
      const jids = new Set<string>();
      for (let after: string | undefined; ; after = [...jids].at(-1)) {
        const page = { after, limit: jidsAtOnce };
        const found = database === undefined ? walk.jids(page) : await database.reader.jids(page);
        if (found.length === 0) break;
        for (const jid of found) jids.add(jid);
      }
      for (const { jid, returns } of expected) {
        assert.ok(jids.has(jid), `job ${jid} is missing`);
        const load = plain(decode((await store.request(jid)) ?? assert.fail(`no request of ${jid}`)));
        assert.equal((load as { jid: string }).jid, jid);
        const found: Record<string, unknown> = {};
        for await (const { minionId, body } of allReturns(store, jid))
          found[minionId] = (plain(decode(body)) as { return: unknown }).return;
        assert.deepEqual(found, returns, jid);
      }
    } finally {
      await Promise.all([database?.close(), walk.close()]);
      if ("close" in store) await store.close();
    }
  }
}
