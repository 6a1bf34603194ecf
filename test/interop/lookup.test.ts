import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { Operator } from "./operator.ts";
import { openReleases } from "./salt-releases.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "./test-bed.ts";

const releases = await openReleases();
const startTimeoutMs = 60_000;
/** A copy takes less than a second; the rest of the timeout is for a busy machine. */
const copiedTimeoutMs = 30_000;

describe("Salt's own salt-run on a master of ours with master_job_cache: local_cache", { skip: releases.skip }, () => {
  const bed = new TestBed();
  let master: MasterUnderTest;

  before(async () => {
    master = await MasterUnderTest.create(bed, "ours", { auto_accept: true, master_job_cache: "local_cache" });
    await master.start();
    const watch = await bed.watchEvents(master.sockDir);
    for (const id of ["one", "two"]) new MinionUnderTest(master, "ours", id);
    for (const id of ["one", "two"]) {
      await watch.until(`${id} start`, ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs);
    }
  });
  after(() => bed.close());

  for (const release of releases.all) {
    bed.it(`Salt ${release.version} looks up a job that it published itself, and lists it`, async () => {
      const operator = new Operator(release, master);
      const published = await operator.run("salt", ["--show-jid", "--out=json", "*", "test.echo", "[1, grüße]"]);
      const jid = /^jid: (\d+)/.exec(published.stdout.toString())?.[1] ?? "";
      // Returns are copied to Salt's layout after the minions have their answer.
      const deadlineMs = performance.now() + copiedTimeoutMs;
      const both = { one: [1, "grüße"], two: [1, "grüße"] };
      let found: unknown;
      do found = await operator.json("run", ["jobs.lookup_jid", jid]);
      while (JSON.stringify(found) !== JSON.stringify(both) && performance.now() < deadlineMs);
      assert.deepEqual(found, both);
      const listed = (await operator.json("run", ["jobs.list_job", jid])) as Record<string, unknown>;
      assert.deepEqual(listed.Minions, ["one", "two"]);
      assert.equal(listed.Function, "test.echo");
    });
  }
});
