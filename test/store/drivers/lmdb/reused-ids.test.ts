/** Job ids that are not times, which an operator may use again: later returns are not trimmed too early and do not count as duplicates. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, describe, it, mock } from "node:test";
import { openLmdbJobCache } from "../../../../src/store/drivers/lmdb/job-cache.ts";
import { KnownReturns } from "../../../../src/store/return-log/known-returns.ts";
import { jidAt } from "../../../../src/wire/jid.ts";
import { loadOf, returnOf } from "../../../contract/job-samples.ts";
import { returnsIn } from "../../../contract/returns-in.ts";
import { temporaryDirectories } from "../../temporary.ts";

const dayMs = 86_400_000;
const startMs = Date.UTC(2026, 0, 2);

describe("a job id that is not a time", () => {
  const temporary = temporaryDirectories();
  afterEach(() => mock.timers.reset());

  it("keeps its job as long as the latest use of it is young", async () => {
    const path = join(temporary(), "jobs");
    const open = () => openLmdbJobCache({ path, shards: 2, durability: "fsync" });
    for (const [day, id] of ["a", "b"].entries()) {
      mock.timers.enable({ apis: ["Date"], now: startMs + 2 * day * dayMs });
      const cache = open();
      await cache.keepJobs([loadOf("mine", ["a", "b"])]);
      await cache.keepReturns([returnOf("mine", id)]);
      await cache.close();
      mock.timers.reset();
    }
    const cache = open();
    const trim = (day: number) => cache.trim({ olderThanJid: jidAt(startMs + day * dayMs, 0), stepsMax: 100 });
    await trim(1);
    assert.deepEqual([(await cache.job("mine")) === undefined, (await returnsIn(cache, "mine")).length], [false, 2]);
    await trim(4);
    assert.deepEqual([(await cache.job("mine")) === undefined, (await returnsIn(cache, "mine")).length], [true, 0]);
    await cache.close();
  });

  it("has new returns when the former ones were trimmed", () => {
    const stored = new Set<string>();
    const known = new KnownReturns({
      hasAny: (jid) => [...stored].some((key) => key.startsWith(`${jid}/`)),
      has: (jid, id) => stored.has(`${jid}/${id}`),
    });
    const time = jidAt(startMs, 0);
    for (const jid of ["mine", time]) {
      assert.equal(known.add(jid, "a"), true);
      assert.equal(known.add(jid, "a"), false, "on its way to the store");
      stored.add(`${jid}/a`);
    }
    known.shrink();
    assert.equal(known.add("mine", "a"), false, "the store has it");
    stored.clear();
    known.shrink();
    assert.deepEqual([known.add("mine", "a"), known.add(time, "a")], [true, false]);
  });
});
