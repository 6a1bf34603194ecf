/** An acknowledged return is on the disk, not only in the page cache: strace shows a sync of the store between request and reply. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { defaultKeyDirectory, loadPrimes, minionKey } from "../../../bench/fleet/keys.ts";
import { startOurMaster } from "../our-master.ts";
import { ProbeMinion } from "../probe-minion.ts";
import { exchangesOn, hasStrace, isSyncedWithin, SystemCallTrace, syncedDescriptors } from "./system-calls.ts";

const returnCount = 200;

/** @returns how many of `returnCount` returns, sent one at a time, were answered without a sync after their arrival */
async function countUnsynced(durability: string): Promise<{ exchanges: number; unsynced: number }> {
  const master = await startOurMaster(1, { auto_accept: true, job_cache_durability: durability });
  try {
    const primes = await loadPrimes(defaultKeyDirectory(), 1);
    const minion = await ProbeMinion.open("traced", minionKey(primes, 0), master.requestPort);
    const trace = await SystemCallTrace.attach(master.processId, join(master.directory, "system-calls"));
    for (let index = 0; index < returnCount; index += 1) {
      await minion.return(`20260102030405${String(index).padStart(6, "0")}`);
    }
    minion.close();
    const store = join(master.cacheDirectory, "jobs.lmdb");
    const synced = syncedDescriptors(master.processId, store);
    const calls = await trace.stop();
    const exchanges = exchangesOn(calls, master.requestPort);
    const unsynced = exchanges.filter((exchange) => !isSyncedWithin(calls, exchange, store, synced)).length;
    return { exchanges: exchanges.length, unsynced };
  } finally {
    await master.remove();
  }
}

/** CI installs strace; elsewhere the test skips without it. */
const skip = hasStrace() || process.env.CI === "true" ? false : "strace is not installed";

describe("the sync behind an acknowledgement", { skip }, () => {
  it("comes between every return and its reply", async () => {
    assert.deepEqual(await countUnsynced("fsync"), { exchanges: returnCount, unsynced: 0 });
  });

  it("is not waited for with job_cache_durability: async, which shows that this test can fail", async () => {
    const { exchanges, unsynced } = await countUnsynced("async");
    assert.equal(exchanges, returnCount);
    // On a quiet machine an earlier return's sync often falls between a later return and its reply, so one reply without a sync is proof enough.
    assert.ok(unsynced > 0, `${unsynced} of ${returnCount} were answered without a sync`);
  });
});
