/** A master whose job cache has a damaged return: an answer without it says so to its caller, and the master's log does, too. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openLmdbJobCache } from "../../src/store/drivers/lmdb/job-cache.ts";
import { loadOf, returnOf } from "../contract/job-samples.ts";
import { startOurMaster } from "../fleet/our-master.ts";
import { runCli } from "../fleet/run-cli.ts";
import { temporaryDirectories } from "../store/temporary.ts";

const jid = "20260102030405000001";
const commandTimeoutMs = 60_000;
const lostText = /the return of m1 for job 20260102030405000001 in .*jobs\.lmdb is not what was stored, and left out/;

/** A job of two minions; one bit of the return of `m1` has flipped. */
async function fillDamaged(path: string): Promise<void> {
  const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
  await cache.keepJobs([loadOf(jid, ["m1", "m2"])]);
  await cache.keepReturns([returnOf(jid, "m1", "FLIPPED".repeat(20)), returnOf(jid, "m2", "whole")]);
  await cache.close();
  const file = join(path, "0.mdb");
  const bytes = readFileSync(file);
  // Free pages hold copies of the return.
  for (let at = bytes.indexOf("FLIPPED"); at !== -1; at = bytes.indexOf("FLIPPED", at)) bytes[at] = 0x47;
  writeFileSync(file, bytes);
}

describe("an answer that lacks a damaged return", () => {
  const temporary = temporaryDirectories();

  it("says so on standard error each time, and in the master's log once", async (context) => {
    const cachedir = temporary();
    await fillDamaged(join(cachedir, "jobs.lmdb"));
    const master = await startOurMaster(1, { root_dir: "/", cachedir, keep_jobs_seconds: 0 });
    context.after(() => master.remove());
    for (let round = 0; round < 2; round += 1) {
      const argv = ["run", "-c", master.configDirectory, "--out=json", "jobs.lookup_jid", jid];
      const { stdout, stderr } = await runCli(argv, commandTimeoutMs);
      assert.match(stdout, /"m2": "whole"/);
      assert.doesNotMatch(stdout, /"m1"/);
      assert.match(stderr, lostText);
    }
    const lines = readFileSync(join(master.directory, "log-file"), "utf8").split("\n");
    const told = lines.filter((line) => lostText.test(line));
    assert.equal(told.length, 1, lines.join("\n"));
    assert.match(told[0] ?? "", /a runner met a fault/);
  });
});
