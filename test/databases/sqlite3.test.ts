/** The driver `sqlite3` on files: the contract, the columns of Salt's, and what an operator is told of a fault. */
import assert from "node:assert/strict";
import { mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { loadMasterConfig, type MasterConfig, type Overrides } from "../../src/config/load.ts";
import type { JobDatabase } from "../../src/databases/contract/database.ts";
import { checkDatabasePackages, openDatabase } from "../../src/databases/registry.ts";
import { openSqlite, type SqliteRow } from "../../src/databases/sqlite3/client.ts";
import { jidAt } from "../../src/wire/jid.ts";
import { jobDatabaseContract } from "../contract/job-database.ts";
import type { DatabaseUnderTest } from "../contract/job-database-context.ts";
import { jid, published, returned, writerOf } from "../contract/job-rows.ts";

const isHere = isBuiltin("node:sqlite");

class Place {
  readonly directory = mkdtempSync(join(tmpdir(), "sw-sqlite-"));
  readonly path = join(this.directory, "salt.db");

  config(more: Overrides = {}): MasterConfig {
    const own = { root_dir: this.directory, id: "the_master", "sqlite3.database": this.path, "sqlite3.timeout": 5 };
    return loadMasterConfig(join(this.directory, "none"), { ...own, ...more });
  }

  /** Runs statements without the driver. @returns the rows of the last one */
  sql(...statements: readonly string[]): readonly SqliteRow[] {
    const client = openSqlite(this.path);
    try {
      return statements.map((statement) => client.prepare(statement).all()).at(-1) ?? [];
    } finally {
      client.close();
    }
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

async function underContract(): Promise<DatabaseUnderTest> {
  const place = new Place();
  const tables = { job: "jids", return: "salt_returns" } as const;
  return {
    config: ({ masterId = "the_master" } = {}) => place.config({ id: masterId }),
    count: (kind) => Number(place.sql(`SELECT COUNT(*) AS count FROM ${tables[kind]}`)[0]?.count),
    clear: () => void place.sql("DELETE FROM jids", "DELETE FROM salt_returns"),
    server: undefined,
    remove: async () => place.remove(),
  };
}

// Declared, not skipped: no version of Node.js can run both.
if (isHere) {
  jobDatabaseContract("sqlite3", underContract, {
    skip: false,
    hasServer: false,
    keepsFirstJob: true,
    nul: "\0",
    refused: undefined,
  });
  describe("the database sqlite3", () => {
    let place: Place;
    let database: JobDatabase;
    beforeEach(async () => {
      place = new Place();
      database = openDatabase(place.config(), "sqlite3");
      await database.createSchema();
    });
    afterEach(async () => {
      await database.close();
      place.remove();
    });
    const context: Context = { place: () => place, database: () => database, write: writerOf(() => database) };
    rowTests(context);
    faultTests(context);
  });
} else {
  it("the database sqlite3 is refused by name where Node.js has no SQLite", () => {
    const config = loadMasterConfig("/nowhere", { id: "m", master_job_cache: "sqlite3", "sqlite3.database": "/x" });
    assert.throws(() => checkDatabasePackages(config), {
      code: "PACKAGE_MISSING",
      message:
        /^sqlite3 as a job cache needs node:sqlite, which Node\.js 20\.\S+ does not have: run Saltworks with Node\.js 22\.13 or later$/,
    });
  });
}

type Context = {
  place(): Place;
  database(): JobDatabase;
  readonly write: ReturnType<typeof writerOf>;
};

function rowTests({ place: placeNow, database, write }: Context): void {
  it("makes a file that only its owner reads, with Salt's columns and an index", async () => {
    const place = placeNow();
    assert.equal(statSync(place.path).mode & 0o777, 0o600);
    const columns = place.sql("PRAGMA table_info(salt_returns)").map(({ name, notnull }) => [name, notnull]);
    assert.deepEqual(columns, [
      ["fun", 0],
      ["jid", 0],
      ["id", 0],
      ["fun_args", 0],
      ["date", 1],
      ["full_ret", 1],
      ["success", 1],
    ]);
    const plan = place.sql("EXPLAIN QUERY PLAN SELECT full_ret FROM salt_returns WHERE jid = '1' AND id = 'a'");
    assert.match(String(plan[0]?.detail), /USING INDEX salt_returns_jid_id/);
    place.sql("DROP INDEX salt_returns_jid_id", "DROP TABLE jids");
    assert.deepEqual(await database().createSchema(), ["jids", "salt_returns_jid_id"]);
  });

  it("writes the value alone, the arguments as Python prints them, and success as a number's text", async () => {
    const place = placeNow();
    const args = ["it's", { __kwarg__: true, k: 1.5 }, null];
    await write([
      returned("a", { x: "grüße" }, { fun: "cmd.run", fun_args: args, success: false }),
      returned("b", 1, { fun_args: [], success: null }),
    ]);
    const rows = place.sql("SELECT fun, jid, id, fun_args, full_ret, success, date FROM salt_returns ORDER BY id");
    const [first] = rows.map((row) => ({ ...row, date: String(row.date).replaceAll(/\d/g, "0") }));
    const date = "0000-00-00 00:00:00.000000";
    const fun_args = `["it's", {'__kwarg__': True, 'k': 1.5}, None]`;
    assert.deepEqual(first, { fun: "cmd.run", jid, id: "a", fun_args, full_ret: '{"x": "grüße"}', success: "0", date });
    assert.deepEqual([rows[1]?.fun_args, rows[1]?.full_ret, rows[1]?.success], [null, "1", ""]);
  });

  it("removes rows whose job id is a time that is too long ago, a few at a time, and no others", async () => {
    const seconds = 3_600;
    const [old, young] = [jidAt(Date.now() - seconds * 1_000 - 60_000, 0), jidAt(Date.now() - 60_000, 0)];
    await write([old, young, "123-own"].flatMap((id) => [published(id), returned("a", 1, {}, id)]));
    await write([returned("b", 1, {}, old)]);
    const step = { keepSeconds: seconds, archives: false, rowsMax: 2, after: undefined };
    const first = await database().expire(step);
    assert.deepEqual([first.jobs, first.returns, first.next !== undefined], [0, 2, true]);
    assert.deepEqual(await database().expire(step), { jobs: 1, returns: 0, events: 0, next: undefined });
    for (const table of ["jids", "salt_returns"]) {
      const left = placeNow().sql(`SELECT jid FROM ${table} ORDER BY jid`);
      assert.deepEqual(
        left.map(({ jid: id }) => id),
        ["123-own", young],
      );
    }
  });
}

function faultTests({ place: placeNow, database, write }: Context): void {
  it("waits for another program that holds the file, and says when it waited in vain", async () => {
    const place = placeNow();
    const hasty = openDatabase(place.config({ "sqlite3.timeout": 0.1 }), "sqlite3");
    const other = openSqlite(place.path);
    other.exec("BEGIN EXCLUSIVE");
    const advice = { code: "DATABASE_FAILED", message: /locked: another program holds the file .*sqlite3\.timeout$/ };
    await assert.rejects(hasty.write([returned("a", 1)], { mayBePresent: false }), advice);
    await assert.rejects(hasty.reader.request(jid), advice);
    const waiting = write([published(jid), returned("a", 1)]);
    other.exec("COMMIT");
    other.close();
    assert.deepEqual(await waiting, { jobs: 1, returns: 1, present: 0 });
    assert.deepEqual(await hasty.write([returned("b", 1)], { mayBePresent: false }), {
      jobs: 0,
      returns: 1,
      present: 0,
    });
    await hasty.close();
  });

  it("writes nothing into a file that was moved away, and goes on in the one that has its place", async () => {
    const place = placeNow();
    await write([returned("a", 1)]);
    const old = join(place.directory, "old.db");
    renameSync(place.path, old);
    await assert.rejects(write([returned("b", 1)]), { code: "DATABASE_FAILED", message: /jobs\.create_schema/ });
    await database().createSchema();
    await write([returned("b", 1)]);
    assert.deepEqual(
      place.sql("SELECT id FROM salt_returns").map(({ id }) => id),
      ["b"],
    );
  });

  it("says what is wrong with the file before the first job", async () => {
    const place = placeNow();
    place.sql("ALTER TABLE salt_returns DROP COLUMN date");
    await assert.rejects(database().check(), { code: "DATABASE_FAILED", message: /no column named date/ });
    place.sql("DROP TABLE salt_returns");
    await assert.rejects(database().check(), { code: "DATABASE_FAILED", message: /jobs\.create_schema/ });
    const nowhere = openDatabase(place.config({ "sqlite3.database": "/nonexistent/salt.db" }), "sqlite3");
    await assert.rejects(nowhere.check(), { code: "DATABASE_FAILED", message: /no such file: make it with/ });
    await assert.rejects(nowhere.createSchema(), { code: "DATABASE_FAILED", message: /ENOENT/ });
    await nowhere.close();
  });
}
