/** A master with `master_job_cache: mysql` in return storms: database and master fail in every way, and each row is there once. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { mariadbMissing } from "../../databases/mariadb.ts";
import { smallDiskSkip } from "../../fault/small-disk.ts";
import { DatabaseStorm } from "./database-storm.ts";
import { databaseFaults, suffer } from "./faults.ts";

const minionCount = 200;
/** The server's own files, and a few megabytes. */
const diskMegabytes = 256;

describe("a master whose job cache is in MariaDB", { timeout: 600_000, skip: mariadbMissing() ?? false }, () => {
  let site: DatabaseStorm;

  before(async () => {
    site = await DatabaseStorm.open({ minionCount, diskMegabytes });
  });
  after(() => site?.close());

  it("keeps jobs while the tables are missing, says so, and copies them once they are made", async () => {
    await site.publish();
    await site.untilReturned();
    await site.until("the database fails", async () => (await site.count("failures")) > 0);
    // A return is acknowledged once the batch log has it; the feed gets it after that.
    await site.until("every return waits", async () => (await site.count("waiting")) > minionCount);
    const { State, Reason, Waiting } = await site.status();
    assert.equal(State, "failing");
    assert.match(Reason ?? "", /jobs\.create_schema/);
    assert.ok(Waiting > minionCount);
    const made = await site.run<{ "Tables-made": string[] }>("jobs.create_schema");
    assert.deepEqual(made["Tables-made"], ["jids", "salt_returns", "salt_events"]);
    await site.assertWhole();
    await site.until("all is copied", async () => (await site.count("waiting")) === 0);
  });

  it("answers from the database alone when asked for it", async () => {
    const [jid = ""] = site.jids;
    const local = await site.run<Record<string, unknown>>("jobs.lookup_jid", jid);
    assert.equal(Object.keys(local).length, minionCount);
    assert.deepEqual(await site.run("jobs.lookup_jid", jid, "ext_source=mysql"), local);
    assert.deepEqual(
      Object.keys(await site.run<object>("jobs.list_jobs", "ext_source=mysql", "search_function=cmd.*")),
      [jid],
    );
  });

  for (const name of ["killed", "tables locked", "password changed", "black hole"] as const)
    it(`acknowledges returns and loses and doubles no row: ${name}`, async () => {
      await suffer(site, databaseFaults[name]);
    });

  it("acknowledges returns and loses and doubles no row: disk full", { skip: smallDiskSkip() }, async () => {
    await suffer(site, databaseFaults["disk full"]);
  });

  it("loses and doubles no row when the master is killed", async () => {
    await site.duringStorm(() => site.master.kill());
    await site.master.restart();
    await site.untilReturned();
    await site.assertWhole();
  });

  it("loses and doubles no row when both are killed while rows wait", async () => {
    await site.duringStorm(() => site.server.kill());
    await site.untilReturned();
    await site.master.kill();
    await site.server.run();
    await site.master.restart();
    await site.assertWhole();
  });

  it("stops in time, and writes the password nowhere", async () => {
    assert.equal(await site.master.stop(), 0);
    assert.ok(!site.master.logTail().includes(site.server.password));
  });
});
