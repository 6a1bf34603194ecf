/** A migration between the local job caches: each record once, whatever is damaged, present or interrupted. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { loadMasterConfig, type MasterConfig, type Overrides } from "../../../src/config/load.ts";
import type { JobDatabase, Written } from "../../../src/databases/contract/database.ts";
import type { ReturnRow, Row } from "../../../src/databases/contract/rows.ts";
import { MarkFile } from "../../../src/databases/migration/mark.ts";
import { Migration, type MigrationProgress } from "../../../src/databases/migration/migration.ts";
import { checkMigrationNames, type MigrationNames, openMigration } from "../../../src/databases/migration/open.ts";
import { SaltSource } from "../../../src/databases/migration/salt-source.ts";
import { DatabaseTarget } from "../../../src/databases/migration/targets.ts";
import { SaltworksError } from "../../../src/errors.ts";
import { databaseCutsMax, migrationRowsMax } from "../../../src/limits.ts";
import { lmdbDriver } from "../../../src/store/drivers/lmdb/driver.ts";
import type { JobCache } from "../../../src/store/jobs/job-cache.ts";
import { jidAt } from "../../../src/wire/jid.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { ValueMap } from "../../../src/wire/values.ts";
import { loadOf, returnOf } from "../../contract/job-samples.ts";
import { plain } from "../../plain.ts";
import { temporaryDirectories } from "../../store/temporary.ts";
import { saltJobDirectory, writeSaltJob, writeSaltJobs } from "./salt-jobs.ts";

const jid = "20260102030405000001";

describe("a migration of jobs", () => {
  const temporary = temporaryDirectories();
  let config: MasterConfig;
  beforeEach(() => {
    config = configOf();
  });

  function configOf(more: Overrides = {}): MasterConfig {
    const root = temporary();
    const own = { root_dir: root, cachedir: join(root, "cache"), id: "the_master", job_cache_store_endtime: true };
    const made = loadMasterConfig(join(root, "none"), { ...own, ...more });
    mkdirSync(join(made.cachedir, "jobs"), { recursive: true });
    return made;
  }

  async function migrate(names: MigrationNames, own?: JobDatabase): Promise<MigrationProgress> {
    const migration = await openMigration(config, names, own);
    try {
      return await toEnd(migration);
    } finally {
      await migration.close();
    }
  }

  async function inLmdb<Result>(step: (jobs: JobCache) => Promise<Result>): Promise<Result> {
    const jobs = lmdbDriver.open(config, {});
    try {
      return await step(jobs);
    } finally {
      await jobs.close();
    }
  }

  it("copies requests, expected minions, returns with what the request says of them, and end times into LMDB", async () => {
    const end = "2026, Jan 02 03:04:09.123456";
    writeSaltJob(config.cachedir, { jid, returns: { a: "grüße", b: 2 }, syndic: ["low1"], end, arg: ["x", 1] });
    const { counts } = await migrate({ from: "local_cache", to: "lmdb" });
    assert.deepEqual(counts, { passed: 1, jobs: 1, returns: 2, present: 0, leftOut: 0 });
    await inLmdb(async (jobs) => {
      assert.deepEqual([...((await jobs.job(jid))?.minions ?? [])].sort(), ["a", "b", "low1"]);
      assert.equal(await jobs.endTime(jid), end);
      const body = plain(decode((await jobs.returnOf(jid, "a")) ?? assert.fail())) as Record<string, unknown>;
      const known = { fun: "test.arg", fun_args: ["x", 1], user: "root", jid, id: "a" };
      assert.deepEqual(body, { return: "grüße", retcode: 0, success: true, ...known });
      assert.deepEqual(await jobs.find({ limit: 10 }), [jid]);
    });
  });

  it("writes nothing twice when it runs again to its end, and leaves no mark", async () => {
    writeSaltJobs(config.cachedir, 7, 3);
    await migrate({ from: "local_cache", to: "lmdb" });
    const again = await migrate({ from: "local_cache", to: "lmdb" });
    assert.deepEqual(again.counts, { passed: 7, jobs: 0, returns: 0, present: 28, leftOut: 0 });
    assert.equal(again.isResumed, false);
    assert.deepEqual(readdirSync(join(config.cachedir, "migrations")), []);
  });

  it("copies from LMDB into Salt's files and back, with the time of each return", async () => {
    const source = configOf();
    const jobs = writeSaltJobs(source.cachedir, 5, 2);
    config = source;
    await migrate({ from: "local_cache", to: "lmdb" });
    rmSync(join(config.cachedir, "jobs"), { recursive: true });
    const { counts } = await migrate({ from: "lmdb", to: "local_cache" });
    assert.deepEqual([counts.jobs, counts.returns, counts.leftOut], [5, 10, 0]);
    for (const job of jobs) {
      const directory = saltJobDirectory(config.cachedir, job.jid);
      assert.ok(existsSync(join(directory, "web1", "return.p")));
      // Salt removes a job by the time of this file.
      assert.ok(statSync(join(directory, "jid")).mtimeMs < Date.now() - 30_000);
    }
  });

  it("names what is damaged or unreadable, counts it and copies the rest", async () => {
    writeSaltJobs(config.cachedir, 4, 2);
    const bad = jidAt(Date.now(), 1);
    const partly = jidAt(Date.now(), 2);
    writeFileSync(join(writeSaltJob(config.cachedir, { jid: bad, returns: { a: 1 } }), ".load.p"), "\xc1");
    const directory = writeSaltJob(config.cachedir, { jid: partly, returns: { a: 1, b: 2 } });
    writeFileSync(join(directory, "a", "return.p"), Buffer.from([0x81]));
    const { counts, named } = await migrate({ from: "local_cache", to: "lmdb" });
    assert.deepEqual(counts, { passed: 6, jobs: 5, returns: 10, present: 0, leftOut: 2 });
    await inLmdb(async (jobs) => {
      const body = decode((await jobs.returnOf(bad, "a")) ?? assert.fail()) as ValueMap;
      assert.equal(body.get("return"), 1, "a return does not need its request");
    });
    assert.ok(named.some((text) => text.includes(join(saltJobDirectory(config.cachedir, bad), ".load.p"))));
    assert.ok(named.some((text) => text.includes(join(directory, "a", "return.p"))));
  });

  it("copies returns without a request, and tells nothing of an empty directory", async () => {
    writeSaltJob(config.cachedir, { jid, returns: { a: 1 }, hasLoad: false });
    mkdirSync(join(config.cachedir, "jobs", "ff", "empty"), { recursive: true });
    const { counts } = await migrate({ from: "local_cache", to: "lmdb" });
    assert.deepEqual([counts.jobs, counts.returns, counts.leftOut], [0, 1, 0]);
  });

  it("copies a return without a request into Salt's files and back", async () => {
    await inLmdb((jobs) => jobs.keepReturns([returnOf(jid, "a")]));
    await migrate({ from: "lmdb", to: "local_cache" });
    // Salt removes a directory without this file, and a job by the file's time.
    const { mtimeMs } = statSync(join(saltJobDirectory(config.cachedir, jid), "jid"));
    assert.equal(mtimeMs, new Date("2026-01-02T03:04:05").getTime());
    rmSync(join(config.cachedir, "jobs.lmdb"), { recursive: true });
    const { counts } = await migrate({ from: "local_cache", to: "lmdb" });
    assert.deepEqual([counts.returns, counts.leftOut], [1, 0]);
    await inLmdb(async (jobs) => assert.ok(await jobs.returnOf(jid, "a")));
  });

  it("reads jobs whose directories another hash has named", async () => {
    const directory = join(config.cachedir, "jobs", "0a", "other");
    mkdirSync(join(config.cachedir, "jobs", "0a"));
    writeFileSync(join(config.cachedir, "jobs", "0a", ".hidden"), "");
    mkdirSync(join(directory, "a"), { recursive: true });
    writeFileSync(join(directory, ".load.p"), encode({ jid, fun: "test.ping" }, "bin"));
    writeFileSync(join(directory, "a", "return.p"), encode({ return: true }, "bin"));
    const { counts } = await migrate({ from: "local_cache", to: "lmdb" });
    assert.deepEqual([counts.jobs, counts.returns], [1, 1]);
  });

  it("goes on after the last batch that was written, also within a large job", async () => {
    const ids = Array.from({ length: 3 * migrationRowsMax }, (_, index) => `minion${index}`);
    writeSaltJob(config.cachedir, { jid, returns: Object.fromEntries(ids.map((id) => [id, true])) });
    writeSaltJobs(config.cachedir, 20, 2);
    const database = new MemoryDatabase();
    database.writesLeft = 2;
    await assert.rejects(memoryMigration(database), { code: "DATABASE_FAILED" });
    const before = database.keys.length;
    const sizes = database.asked.length;
    database.writesLeft = Number.POSITIVE_INFINITY;
    const { isResumed, counts } = await memoryMigration(database);
    assert.ok(isResumed);
    assert.deepEqual(counts, { passed: 21, jobs: 21, returns: ids.length + 40, present: 0, leftOut: 0 });
    assert.equal(new Set(database.keys).size, database.keys.length);
    assert.equal(
      database.asked.slice(sizes).reduce((sum, rows) => sum + rows, 0),
      counts.jobs + counts.returns - before,
    );
  });

  it("writes a batch whose answer was lost no second time", async () => {
    writeSaltJobs(config.cachedir, 20, 2);
    const database = new MemoryDatabase();
    database.losesAnswer = true;
    await assert.rejects(memoryMigration(database), { code: "DATABASE_FAILED" });
    const { counts } = await memoryMigration(database);
    assert.deepEqual([counts.jobs + counts.returns, counts.present, database.keys.length], [0, 60, 60]);
  });

  it("gives each return the time of its file", async () => {
    const atMs = Date.UTC(2026, 0, 2, 3, 4, 6);
    writeSaltJob(config.cachedir, { jid, returns: { a: 1 }, atMs });
    const database = new MemoryDatabase();
    await memoryMigration(database);
    assert.deepEqual(
      database.rows.flatMap((row) => (row.kind === "return" ? [row.atMs] : [])),
      [atMs],
    );
  });

  it("leaves out a row that is refused, or that ends the connection each time", async () => {
    writeSaltJobs(config.cachedir, 10, 2);
    writeSaltJob(config.cachedir, { jid, returns: { refused: 1, cutting: 2, good: 3 } });
    const database = new MemoryDatabase();
    const migration = await memoryMigrationOf(database);
    for (let failures = 0; !migration.progress().isDone; failures += 1) {
      assert.ok(failures <= 2 * databaseCutsMax);
      await migration.step(() => undefined).catch((error: Error) => assert.equal(error.message, "cut"));
    }
    const texts = migration.progress().named.join("\n");
    assert.match(texts, /return of minion "refused" of job .*: no such rows/);
    assert.match(texts, /return of minion "cutting" of job .*: cut/);
    assert.equal(database.keys.length, 32);
    assert.ok(database.keys.includes(`${jid} good`));
  });

  it("does not feed what it brings into LMDB to the database of jobs", async () => {
    config = configOf({ master_job_cache: "mysql" });
    writeSaltJobs(config.cachedir, 3, 2);
    await migrate({ from: "local_cache", to: "lmdb" });
    const feed = lmdbDriver.openFeed(config);
    assert.equal(feed.state().waiting, 0);
    await feed.close();
  });

  it("refuses hostile names of jobs and minions in Salt's layout", async () => {
    await inLmdb(async (jobs) => {
      await jobs.keepJobs([loadOf("..")]);
      await jobs.keepReturns([returnOf(jid, "../../../../escaped"), returnOf(jid, "nocache"), returnOf(jid, "good")]);
    });
    const { counts, named } = await migrate({ from: "lmdb", to: "local_cache" });
    assert.deepEqual([counts.returns, counts.leftOut], [1, 3], named.join("\n"));
    assert.ok(!existsSync(join(config.root_dir, "escaped")));
    assert.ok(!existsSync(join(saltJobDirectory(config.cachedir, jid), "nocache")));
  });

  it("lists each job of LMDB once, page by page, with and without a request", async () => {
    config = configOf({ store_shards: 3 });
    const jids = Array.from({ length: 25 }, (_, index) => jidAt(Date.now() + index, index));
    await inLmdb(async (jobs) => {
      await jobs.keepJobs([...jids.slice(0, 20), "own-id"].map((one) => loadOf(one)));
      await jobs.keepReturns(
        jids.slice(10).flatMap((one) => [returnOf(one, "a"), returnOf(one, "b"), returnOf(one, "c")]),
      );
    });
    const walk = lmdbDriver.openWalk(config);
    const found: string[] = [];
    for (let after: string | undefined; ; after = found.at(-1)) {
      const page = walk.jids({ after, limit: 4 });
      if (page.length === 0) break;
      found.push(...page);
    }
    await walk.close();
    assert.deepEqual(found, [...jids, "own-id"]);
  });

  it("refuses names that no migration can have", () => {
    const refused = (names: MigrationNames, message: RegExp) =>
      assert.throws(() => checkMigrationNames(config, names), { code: "FUNCTION_FAILED", message });
    refused({ from: "lmdb", to: "lmdb" }, /from and to are both lmdb/);
    refused({ from: "oracle", to: "lmdb" }, /no job cache "oracle".*local_cache/);
    refused({ from: "lmdb", to: "sqlite3" }, /sqlite3 is not configured/);
  });

  it("says that there are no files of Salt's", async () => {
    rmSync(join(config.cachedir, "jobs"), { recursive: true });
    await assert.rejects(migrate({ from: "local_cache", to: "lmdb" }), { code: "STORE_FAILED", message: /jobs/ });
  });

  async function memoryMigrationOf(database: MemoryDatabase): Promise<Migration> {
    const target = new DatabaseTarget(database as unknown as JobDatabase, false);
    const mark = new MarkFile(config.cachedir, "local_cache", "mysql");
    return await Migration.open({ source: new SaltSource(config.cachedir), target, mark });
  }

  async function memoryMigration(database: MemoryDatabase): Promise<MigrationProgress> {
    return await toEnd(await memoryMigrationOf(database));
  }
});

async function toEnd(migration: Migration): Promise<MigrationProgress> {
  while (!migration.progress().isDone) await migration.step(() => undefined);
  return migration.progress();
}

/** A database without a key over job and minion, as Salt's tables are. */
class MemoryDatabase {
  readonly place = "memory";
  readonly rows: Row[] = [];
  /** The number of rows of each call. */
  readonly asked: number[] = [];
  writesLeft = Number.POSITIVE_INFINITY;
  losesAnswer = false;

  get keys(): string[] {
    return this.rows.map(keyOf);
  }

  async check(): Promise<void> {}

  async write(rows: readonly Row[], { mayBePresent }: { readonly mayBePresent: boolean }): Promise<Written> {
    if (this.writesLeft <= 0) throw new SaltworksError("DATABASE_FAILED", "away");
    this.writesLeft -= 1;
    this.asked.push(rows.length);
    if (rows.some((row) => isOf(row, "cutting"))) throw new SaltworksError("DATABASE_FAILED", "cut", { isCut: true });
    if (rows.some((row) => isOf(row, "refused"))) throw new SaltworksError("DATABASE_REFUSED", "no such rows");
    const known = new Set(this.keys);
    const added = rows.filter((row) => !mayBePresent || !known.has(keyOf(row)));
    this.rows.push(...added);
    if (this.losesAnswer) {
      this.losesAnswer = false;
      throw new SaltworksError("DATABASE_FAILED", "the answer was lost");
    }
    const jobs = added.filter(({ kind }) => kind === "job").length;
    return { jobs, returns: added.length - jobs, present: rows.length - added.length };
  }
}

function isOf(row: Row, minionId: string): boolean {
  return row.kind === "return" && (row as ReturnRow).minionId === minionId;
}

function keyOf(row: Row): string {
  return row.kind === "job" ? row.jid : `${row.jid} ${row.minionId}`;
}
