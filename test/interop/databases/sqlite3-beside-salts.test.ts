/** Jobs in a file of SQLite beside Salt's: both masters write the same rows, and each one's tools find what the other wrote. */
import assert from "node:assert/strict";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { openDatabase } from "../../../src/databases/registry.ts";
import { openSqlite } from "../../../src/databases/sqlite3/client.ts";
import { openSaltsReturners } from "../returners/salts-returner.ts";
import { MasterUnderTest, TestBed } from "../test-bed.ts";
import { minionId, TwoMasters } from "./two-masters.ts";

const refusedTimeoutMs = 60_000;

// Declared, not skipped: no version of Node.js can run both.
if (isBuiltin("node:sqlite")) {
  const salts = await openSaltsReturners();
  describe("jobs in SQLite beside Salt's", { skip: salts.skip, timeout: 400_000 }, () =>
    besideSalts(new TwoMasters(salts)),
  );
} else {
  describe("jobs in SQLite where Node.js has none", { timeout: 2 * refusedTimeoutMs }, isRefused);
}

function besideSalts(site: TwoMasters): void {
  const path = join(site.bed.folder, "salt.db");
  const options = { "sqlite3.database": path, "sqlite3.timeout": 5.0 };

  before(async () => {
    const database = openDatabase(loadMasterConfig(site.bed.folder, { id: "any", ...options }), "sqlite3");
    await database.createSchema();
    await database.close();
    // As its own job cache, Salt's master loses returns: it writes each load twice, which fails and locks the file. So its minion writes them.
    // A minion of 3007 runs its returners only when it has given up waiting for an acknowledgement that it has: docs/compatibility.md.
    const retries = { return_retry_timer: 1, return_retry_timer_max: 1, return_retry_tries: 1 };
    const theirs = { ext_job_cache: "sqlite3", ...options, ...retries };
    await site.open({ theirs, ours: { master_job_cache: "sqlite3", ...options } });
  });
  after(() => site.bed.close());

  /** The rows of a job, without the date and the name of the returner. Empty until all of them are there. */
  function rowsOf(jid: string): string[] {
    const client = openSqlite(path);
    try {
      client.exec("PRAGMA busy_timeout = 5000");
      const [load] = client.prepare("SELECT load, typeof(load) AS type FROM jids WHERE jid = ?").all(jid);
      const columns = "fun, jid, id, fun_args, full_ret, success, typeof(success) AS type, date";
      const [ret] = client.prepare(`SELECT ${columns} FROM salt_returns WHERE jid = ?`).all(jid);
      if (load === undefined || ret === undefined) return [];
      const asked = { ...load, load: String(load.load).replace('"ret": "sqlite3"', '"ret": ""') };
      const whole = String(ret.full_ret)
        .replace('"__pub_ret": "sqlite3"', '"__pub_ret": ""')
        .replaceAll(/"start_time": "[^"]*", "duration": [\d.]+/g, '"start_time": "", "duration": 0');
      const returned = { ...ret, full_ret: whole, date: String(ret.date).replaceAll(/\d/g, "0") };
      return [JSON.stringify(asked), JSON.stringify(returned)];
    } finally {
      client.close();
    }
  }

  site.bed.it("a master of ours writes the rows of Salt's", async () => {
    await site.compare(rowsOf);
  });

  site.bed.it("each one's tools find the jobs of the other", async () => {
    for (const [writer, reader] of [
      ["ours", "theirs"],
      ["theirs", "ours"],
    ] as const) {
      const { jid } = await site.operator(writer, writer).job(minionId, ["test.echo", "found"]);
      await site.rowsOf(writer, ["test.ping"], rowsOf);
      const operator = site.operator(reader, reader);
      assert.deepEqual(await operator.json("run", ["jobs.lookup_jid", jid]), { [minionId]: "found" }, reader);
      const listed = (await operator.json("run", ["jobs.list_jobs", "ext_source=sqlite3"])) as Record<string, unknown>;
      assert.equal((listed[jid] as { Function: string }).Function, "test.echo", reader);
    }
  });
}

function isRefused(): void {
  const bed = new TestBed();
  after(() => bed.close());
  bed.it("a master does not start, and says what to do", async () => {
    const options = { master_job_cache: "sqlite3", "sqlite3.database": join(bed.folder, "salt.db") };
    const master = await MasterUnderTest.create(bed, "ours", options);
    const program = bed.start("master", "ours", "master", master.configDir);
    await program.untilLine(/node:sqlite, which Node\.js 20\.\S+ does not have: run Saltworks with/, refusedTimeoutMs);
  });
}
