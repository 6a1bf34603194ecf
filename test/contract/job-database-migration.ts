/** The contract of databases of jobs: a migration brings returns that also wait in the feed for the same database. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import type { DatabaseName } from "../../src/config/options/job-cache-drivers.ts";
import { BroughtRows } from "../../src/databases/brought-rows.ts";
import { MigrationThread } from "../../src/databases/migration/thread.ts";
import { Shipper } from "../../src/databases/shipper.ts";
import { broughtRowsSettleMs } from "../../src/limits.ts";
import { lmdbDriver } from "../../src/store/drivers/lmdb/driver.ts";
import { writeSaltJob } from "../databases/migration/salt-jobs.ts";
import { temporaryDirectories } from "../store/temporary.ts";
import type { DatabaseContext } from "./job-database-context.ts";
import { jid } from "./job-rows.ts";
import { loadOf, returnOf } from "./job-samples.ts";

const ids = ["a", "b", "c"];

export function databaseMigrationContract(name: DatabaseName, { under, database, counts }: DatabaseContext): void {
  const temporary = temporaryDirectories();

  for (const from of ["lmdb", "local_cache"] as const) {
    for (const isKilled of [false, true]) {
      const after = isKilled ? ", also after the master was killed" : "";
      it(`has returns once that come from ${from} while they wait in the feed${after}`, () =>
        waitingAndBrought(from, isKilled));
    }
  }

  async function waitingAndBrought(from: "lmdb" | "local_cache", isKilled: boolean): Promise<void> {
    const cachedir = temporary();
    let nowMs = 0;
    const config = { ...under().config(), cachedir, master_job_cache: name };
    const feed = lmdbDriver.openFeed(config);
    const start = () => {
      const own = { database: database(), brought: new BroughtRows(cachedir, name, () => nowMs) };
      return { shipper: new Shipper(feed, own.database, own.brought), migrations: new MigrationThread(config, own) };
    };
    try {
      let thread = start();
      // Nothing waits, so that nothing is written twice by a doubt from the start.
      await thread.shipper.step();
      const jobs = lmdbDriver.open(config, {});
      await jobs.keepJobs([loadOf(jid, ids)]);
      await jobs.keepReturns(ids.map((id) => returnOf(jid, id)));
      await jobs.close();
      writeSaltJob(cachedir, { jid, returns: Object.fromEntries(ids.map((id) => [id, true])) });
      const migrate = { kind: "migrate", what: "step", from, to: name } as const;
      let answer = await thread.migrations.run(migrate);
      while (answer.progress?.isDone === false && answer.fault === undefined)
        answer = await thread.migrations.run(migrate);
      assert.deepEqual([answer.fault, answer.progress?.counts.returns], [undefined, ids.length]);
      assert.equal(feed.state().waiting, ids.length + 1);
      if (isKilled) thread = start();
      const { fault, feed: state } = await thread.shipper.step();
      assert.deepEqual([fault, state.waiting], [undefined, 0]);
      assert.deepEqual(await counts(), { job: 1, return: ids.length });
      nowMs += broughtRowsSettleMs;
      await thread.shipper.step();
      assert.ok(!existsSync(join(cachedir, "migrations", `brought-into-${name}`)), "later rows are not asked for");
    } finally {
      await feed.close();
    }
  }
}
