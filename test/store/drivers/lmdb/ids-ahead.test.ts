/** Job ids that are times far ahead of the clock: their jobs leave by when they were stored, and take no other job with them. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { datedPerStepMax } from "../../../../src/limits.ts";
import { openLmdbJobCache } from "../../../../src/store/drivers/lmdb/job-cache.ts";
import { closeShards, openShards, type Shard } from "../../../../src/store/drivers/lmdb/records.ts";
import type { JobCache, KeptAmount } from "../../../../src/store/jobs/job-cache.ts";
import { jidAt } from "../../../../src/wire/jid.ts";
import { loadOf, returnOf } from "../../../contract/job-samples.ts";
import { returnsIn } from "../../../contract/returns-in.ts";
import { temporaryDirectories } from "../../temporary.ts";

const dayMs = 86_400_000;
const startMs = Date.UTC(2026, 0, 2);
const future = "29990102030405678901";
const present = jidAt(startMs, 0);

describe("a job id far ahead of the clock", () => {
  const temporary = temporaryDirectories();
  let path: string;
  beforeEach(() => {
    path = join(temporary(), "jobs");
    setClock(0);
  });
  afterEach(() => mock.timers.reset());

  function setClock(day: number): void {
    mock.timers.reset();
    mock.timers.enable({ apis: ["Date"], now: startMs + day * dayMs });
  }
  const open = () => openLmdbJobCache({ path, shards: 2, durability: "fsync", storesEndTime: true });
  /** Trims as on this day with `keep_jobs_seconds` of one day, until nothing is left to do. */
  async function trimAt(cache: JobCache, day: number, keep?: KeptAmount): Promise<void> {
    setClock(day);
    const o = { olderThanJid: jidAt(startMs + (day - 1) * dayMs, 0), stepsMax: 3, ...(keep ? { keep } : {}) };
    while ((await cache.trim(o)).hasMore);
  }
  const store = async (cache: JobCache, jid: string, ...minions: string[]) => {
    await cache.keepJobs([loadOf(jid, minions)]);
    await cache.keepReturns(minions.map((id) => returnOf(jid, id)));
    // Brings the returns from the log into LMDB.
    await cache.trim({ olderThanJid: jidAt(0, 0), stepsMax: 1 });
  };
  const listed = (cache: JobCache) => cache.list({ newestFirst: true, limit: 5_000 });
  /** The tables of the closed cache that have records. `termIds` also keeps the last number that a term got. */
  async function filled(): Promise<string[]> {
    const shards = openShards(path, 2, true);
    const tables = ({ loads, returns, others, ends, index }: Shard) => ({
      ...{ loads, returns, others, ends, ...index },
      termIds: index.termTexts,
    });
    const names = shards.flatMap((shard) =>
      Object.entries(tables(shard)).flatMap(([name, table]) => (Array.from(table.getKeys()).length > 0 ? [name] : [])),
    );
    await closeShards(shards);
    return names;
  }
  async function forgetDates(): Promise<void> {
    const shards = openShards(path, 2, true);
    for (const { others } of shards) for (const key of Array.from(others.getKeys())) others.removeSync(key);
    await closeShards(shards);
  }

  it("keeps its job for the usual time after it was stored, and then leaves nothing of it", async () => {
    const cache = open();
    await store(cache, future, "a", "b");
    await trimAt(cache, 0.5);
    assert.deepEqual([await listed(cache), (await returnsIn(cache, future)).length], [[future], 2]);
    await trimAt(cache, 1.5);
    assert.deepEqual([await listed(cache), (await returnsIn(cache, future)).length], [[], 0]);
    await cache.close();
    assert.deepEqual(await filled(), []);
  });

  it("keeps a job whose returns still come", async () => {
    const cache = open();
    await store(cache, future, "a");
    setClock(1);
    await cache.keepReturns([returnOf(future, "b")]);
    await trimAt(cache, 1);
    await trimAt(cache, 1.5);
    assert.equal((await returnsIn(cache, future)).length, 2);
    await trimAt(cache, 2.5);
    assert.deepEqual(await listed(cache), []);
    await cache.close();
  });

  it("is dated by the first trim if an earlier release stored it, as many as there are", async () => {
    const cache = open();
    const ids = Array.from({ length: datedPerStepMax + 5 }, (_, index) => `${BigInt(future) + BigInt(index)}`);
    await cache.keepJobs(ids.map((jid) => loadOf(jid, [])));
    // Returns without a request.
    await cache.keepReturns([returnOf(`${future}_1`, "a")]);
    await cache.close();
    await forgetDates();
    const later = open();
    const trims = async (day: number) => {
      setClock(day);
      for (let round = 0; round < 2; round += 1)
        await later.trim({ olderThanJid: jidAt(startMs + (day - 1) * dayMs, 0), stepsMax: 5_000 });
    };
    await trims(5);
    await trims(5.5);
    assert.equal((await listed(later)).length, ids.length);
    await trims(6.5);
    assert.deepEqual([await listed(later), await returnsIn(later, `${future}_1`)], [[], []]);
    await later.close();
    assert.deepEqual(await filled(), []);
  });

  it("is dated when the clock, which was wrong while the job was stored, has gone back", async () => {
    const cache = open();
    const yearsAhead = 973 * 366;
    setClock(yearsAhead);
    const made = jidAt(Date.now(), 0);
    await store(cache, made, "a");
    await store(cache, "mine", "a");
    await trimAt(cache, yearsAhead);
    for (const day of [1, 1.9]) await trimAt(cache, day);
    assert.deepEqual((await listed(cache)).sort(), [made, "mine"].sort());
    await trimAt(cache, 2.5);
    assert.deepEqual(await listed(cache), []);
    await cache.close();
  });

  it("does not take the place of the time by which other jobs are old", async () => {
    const cache = open();
    await store(cache, "mine", "a");
    for (let count = 0; count < 4; count += 1) await store(cache, `${BigInt(future) + BigInt(count)}`, "a");
    setClock(0.5);
    await trimAt(cache, 0.5, { jobsMax: 2, bytesMax: 0 });
    assert.deepEqual(await listed(cache), [`${BigInt(future) + 3n}`, "mine"]);
    await cache.close();
  });

  it("is the job's time again once a clock that was behind is right", async () => {
    setClock(-10_000);
    const cache = open();
    await store(cache, present, "a");
    await trimAt(cache, 0.5);
    assert.deepEqual(await listed(cache), [present]);
    await trimAt(cache, 1.5);
    assert.deepEqual(await listed(cache), []);
    await cache.close();
  });
});
