/** Old rows leave MariaDB as with Salt's `clean_old_jobs`, compared on one server, and in small steps. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import type { Expired, JobDatabase } from "../../../src/databases/contract/database.ts";
import { Expiry } from "../../../src/databases/expiry.ts";
import { openDatabase } from "../../../src/databases/registry.ts";
import { databaseRowsMax } from "../../../src/limits.ts";
import { jidAt } from "../../../src/wire/jid.ts";
import { MariadbServer, mariadbMissing } from "../../databases/mariadb.ts";
import { openSaltsReturners } from "../returners/salts-returner.ts";

const salts = await openSaltsReturners();
const day = 86_400;
const keepSeconds = day;
const tables = ["jids", "salt_returns", "salt_events"] as const;
const archives = tables.map((table) => `${table}_archive`);

function jidOfAge(seconds: number, micros = 0): string {
  return jidAt(Date.now() - seconds * 1_000, micros);
}

describe("old rows in MariaDB", { skip: mariadbMissing() ?? false, timeout: 180_000 }, () => {
  let server: MariadbServer;

  before(async () => {
    server = await MariadbServer.start();
    for (const name of ["theirs", "ours"])
      server.sql(`CREATE DATABASE ${name} CHARACTER SET utf8mb4; GRANT ALL ON ${name}.* TO '${server.user}'@'%'`);
  });
  after(() => server?.remove());
  beforeEach(async () => {
    for (const name of ["theirs", "ours"]) {
      for (const table of [...tables, ...archives]) server.sql(`DROP TABLE IF EXISTS ${name}.${table}`);
      await withDatabase(name, (database) => database.createSchema());
    }
  });

  async function withDatabase<Result>(name: string, step: (database: JobDatabase) => Promise<Result>): Promise<Result> {
    const database = openDatabase(server.config({ "mysql.db": name }), "mysql");
    try {
      return await step(database);
    } finally {
      await database.close();
    }
  }

  const addJob = (name: string, jid: string) => server.sql(`INSERT INTO ${name}.jids VALUES ('${jid}', '{}')`);
  const addReturns = (name: string, jid: string, ageSeconds: number, count = 1, start = 0) => {
    const rows = Array.from(
      { length: count },
      (_, index) => `('f', '${jid}', '1', 'm${start + index}', '1', '{}', NOW() - INTERVAL ${ageSeconds} SECOND)`,
    );
    server.sql(`INSERT INTO ${name}.salt_returns VALUES ${rows.join(", ")}`);
  };
  const addEvents = (name: string, ageSeconds: number, count: number) => {
    const rows = Array.from({ length: count }, () => `('t', '{}', NOW() - INTERVAL ${ageSeconds} SECOND, 'm')`);
    server.sql(`INSERT INTO ${name}.salt_events (tag, data, alter_time, master_id) VALUES ${rows.join(", ")}`);
  };

  /** Removes all that is old. @returns what each step removed */
  async function expire(name: string, isArchived: boolean, rowsMax = databaseRowsMax): Promise<Expired[]> {
    return await withDatabase(name, async (database) => {
      const steps: Expired[] = [];
      for (let at: string | undefined; ; ) {
        const step = await database.expire({ keepSeconds, archives: isArchived, rowsMax, after: at });
        steps.push(step);
        at = step.next;
        if (at === undefined) return steps;
      }
    });
  }

  const sums = (steps: readonly Expired[]) =>
    (["jobs", "returns", "events"] as const).map((kind) => steps.reduce((sum, step) => sum + step[kind], 0));

  /** All rows of a database, and the columns of its archive. */
  function contents(name: string): Record<string, string[]> {
    const found = server.sql(`SELECT table_name FROM information_schema.tables WHERE table_schema = '${name}'`);
    return Object.fromEntries(
      found.sort().flatMap((table) => [
        [table, server.sql(`SELECT * FROM ${name}.${table}`).sort()],
        [`columns of ${table}`, server.sql(`SHOW COLUMNS FROM ${name}.${table}`)],
      ]),
    );
  }

  /** Jobs of every kind that Salt removes or keeps. The same rows in both, times included. */
  function fill(): void {
    const [old, older, large, mixed, young] = [2 * day, 3 * day, 4 * day, day + 60, 60].map((age) => jidOfAge(age));
    for (const jid of [old, older, large, mixed, young, "mine", "young-mine"]) addJob("theirs", jid ?? "");
    addReturns("theirs", old ?? "", 2 * day, 3);
    addReturns("theirs", older ?? "", 3 * day);
    addReturns("theirs", large ?? "", 4 * day - 5, 1_500);
    addReturns("theirs", mixed ?? "", day + 30, 2);
    addReturns("theirs", mixed ?? "", 30, 2, 2);
    addReturns("theirs", young ?? "", 50, 3);
    addReturns("theirs", "mine", 2 * day, 2);
    addReturns("theirs", "young-mine", 10);
    addReturns("theirs", jidOfAge(2 * day, 7), 2 * day);
    addEvents("theirs", 2 * day, 700);
    addEvents("theirs", 10, 5);
    for (const table of tables) server.sql(`INSERT INTO ours.${table} SELECT * FROM theirs.${table}`);
  }

  for (const isArchived of [false, true])
    it(`${isArchived ? "go into the archive" : "leave"} as with Salt 3007`, { skip: salts.skip }, async () => {
      fill();
      const place = { host: "127.0.0.1", port: server.port, user: server.user, pass: server.password, db: "theirs" };
      await salts.clean("mysql", { mysql: place, keep_jobs_seconds: keepSeconds, archive_jobs: isArchived });
      assert.deepEqual(sums(await expire("ours", isArchived)), [5, 1_509, 700]);
      assert.deepEqual(contents("ours"), contents("theirs"));
      assert.equal(Object.hasOwn(contents("ours"), "jids_archive"), isArchived);
    });

  it("leave in transactions of few rows, also of a large job", async () => {
    const large = jidOfAge(2 * day);
    addJob("ours", large);
    addReturns("ours", large, 2 * day, 1_000);
    for (let index = 0; index < 30; index += 1) addReturns("ours", jidOfAge(3 * day, index), 3 * day, 5);
    const steps = await expire("ours", true, 64);
    assert.ok(steps.every(({ returns }) => returns <= 64));
    assert.deepEqual(sums(steps), [1, 1_150, 0]);
    assert.equal(server.sql("SELECT COUNT(*) FROM ours.salt_returns_archive")[0], "1150");
  });

  it("leave with jobs that nothing returned to, which Salt keeps forever", async () => {
    const [old, young] = [jidOfAge(2 * day), jidOfAge(60)];
    for (const jid of [old, young, "mine"]) addJob("ours", jid);
    assert.deepEqual(sums(await expire("ours", true)), [1, 0, 0]);
    assert.deepEqual(server.sql("SELECT jid FROM ours.jids").sort(), [young, "mine"].sort());
    assert.deepEqual(server.sql("SELECT jid FROM ours.jids_archive"), [old]);
  });

  it("go into an archive that has their job and their event's id already", async () => {
    const old = jidOfAge(2 * day);
    for (let round = 0; round < 2; round += 1) {
      addJob("ours", old);
      addReturns("ours", old, 2 * day);
      server.sql("INSERT INTO ours.salt_events VALUES (1, 't', '{}', NOW() - INTERVAL 2 DAY, 'm')");
      assert.deepEqual(sums(await expire("ours", true)), [1, 1, 1]);
    }
    const counts = archives.map((table) => server.sql(`SELECT COUNT(*) FROM ours.${table}`)[0]);
    assert.deepEqual(counts, ["1", "2", "2"]);
  });

  it("stay while the clocks of database and master differ by hours", async ({ mock }) => {
    addReturns("ours", jidOfAge(2 * day), 2 * day);
    mock.timers.enable({ apis: ["Date"], now: Date.now() - 7_200_000 });
    await assert.rejects(expire("ours", false), { code: "DATABASE_FAILED", message: /clock.* 1[12]\d minutes apart/ });
    assert.equal(server.sql("SELECT COUNT(*) FROM ours.salt_returns")[0], "1");
  });

  it("stay whole when a step fails, and leave afterwards, also without a table of events", async () => {
    const old = jidOfAge(2 * day);
    addJob("ours", old);
    addReturns("ours", old, 2 * day);
    server.sql("CREATE TABLE ours.salt_returns_archive (wrong int)");
    await withDatabase("ours", async (database) => {
      const expiry = new Expiry(database);
      const failed = await expiry.step({ keepSeconds, archives: true });
      assert.deepEqual([failed.jobs, failed.returns, failed.isDone], [0, 0, false]);
      assert.match(failed.fault ?? "", /^mysql:/);
      assert.deepEqual(server.sql("SELECT jid FROM ours.jids"), [old]);
      assert.deepEqual(server.sql("SELECT jid FROM ours.jids_archive"), []);
      server.sql("DROP TABLE ours.salt_returns_archive; DROP TABLE ours.salt_events");
      let removed = 0;
      for (let isDone = false; !isDone; ) {
        const step = await expiry.step({ keepSeconds, archives: true });
        assert.equal(step.fault, undefined);
        removed += step.jobs + step.returns;
        isDone = step.isDone;
      }
      assert.equal(removed, 2);
    });
  });
});
