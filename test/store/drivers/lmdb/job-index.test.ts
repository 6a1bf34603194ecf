/** The LMDB job cache's index beyond the contract: caches made before it, trimming by number and bytes, ends of jobs, marks. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openLmdbJobCache } from "../../../../src/store/drivers/lmdb/job-cache.ts";
import { encodeLoad, loadKey, openShards } from "../../../../src/store/drivers/lmdb/records.ts";
import { indexJobCache, reshardJobCache } from "../../../../src/store/drivers/lmdb/reshard.ts";
import { exactly, type TextPattern } from "../../../../src/store/jobs/facts.ts";
import type { JobCache, KeptAmount } from "../../../../src/store/jobs/job-cache.ts";
import { closeEnvironment, openDatabase, openEnvironment, transact } from "../../../../src/store/lmdb/env.ts";
import { encode } from "../../../../src/wire/msgpack.ts";
import { loadOf, returnOf } from "../../../contract/job-samples.ts";
import { temporaryDirectories } from "../../temporary.ts";

const jidAt = (second: number) => `202601020304${String(second).padStart(2, "0")}000000`;
const containing = (part: string): TextPattern => ({ exact: undefined, matches: (text) => text.includes(part) });
const byFunction = (fun: string) => ({ limit: 10_000, functions: [exactly(fun)] });

function loadWith(jid: string, fields: Readonly<Record<string, string>>) {
  return loadOf(jid, ["a"], { load: encode({ jid, fun: "test.ping", tgt: "*", ...fields }, "bin") });
}

/** A cache of a release without the index. */
async function makeOldCache(path: string, jids: readonly string[]): Promise<void> {
  await openLmdbJobCache({ path, shards: 1, durability: "fsync" }).close();
  const environment = openEnvironment({ file: join(path, "0.mdb"), isReadOnly: false, isSyncedOnCommit: true });
  const loads = openDatabase(environment, "loads");
  transact(environment, { records: jids.length, bytes: 0 }, () => {
    for (const jid of jids) loads.putSync(loadKey(jid), encodeLoad(loadWith(jid, { fun: `f.n${jid.at(13)}` })));
  });
  await closeEnvironment(environment);
  writeFileSync(join(path, "layout.json"), '{"version":1,"shards":1}\n');
}

describe("a job cache without an index", () => {
  const temporary = temporaryDirectories();
  const jids = Array.from({ length: 1_200 }, (_, index) => `2026010203${String(index).padStart(10, "0")}`);

  it("is searched all the same, by readers too, and gets its index once", async () => {
    const path = join(temporary(), "jobs");
    await makeOldCache(path, [...jids, "mine"]);
    const search = async (cache: JobCache) => (await cache.find(byFunction("f.n0"))).length;
    const reader = openLmdbJobCache({ path, shards: 1, durability: "async", isReadOnly: true });
    assert.equal(await search(reader), jids.length);
    await reader.close();
    assert.equal(await indexJobCache(path), jids.length + 1);
    assert.equal(await indexJobCache(path), undefined, "only once");
    assert.match(readFileSync(join(path, "layout.json"), "utf8"), /"version":3/);
    const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    assert.equal(await search(cache), jids.length);
    assert.deepEqual(await cache.find({ limit: 1, functions: [containing("f.n")] }), [jids.at(-1)]);
    await cache.close();
  });

  it("keeps on being a whole cache when building the index was cut off", async () => {
    const path = join(temporary(), "jobs");
    await makeOldCache(path, jids.slice(0, 10));
    const writer = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    await writer.keepJobs([loadWith(jidAt(59), { fun: "later.one" })]);
    assert.deepEqual(await writer.find(byFunction("later.one")), [jidAt(59)]);
    assert.equal((await writer.find({ limit: 100 })).length, 11);
    await writer.close();
    assert.equal(await indexJobCache(path), 11);
    const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    assert.deepEqual(await cache.find(byFunction("later.one")), [jidAt(59)]);
    assert.equal((await cache.find({ limit: 100 })).length, 11);
    await cache.close();
  });

  it("gets one when it moves to another number of files", async () => {
    const path = join(temporary(), "jobs");
    await makeOldCache(path, jids.slice(0, 40));
    assert.equal(await reshardJobCache(path, 3), 1);
    const cache = openLmdbJobCache({ path, shards: 3, durability: "fsync" });
    assert.deepEqual(await cache.find(byFunction("f.n0")), jids.slice(0, 40).toReversed());
    assert.deepEqual(await cache.find({ ...byFunction("f.n0"), limit: 2, before: jids[5] }), [jids[4], jids[3]]);
    await cache.close();
  });
});

describe("the job cache's index", () => {
  const temporary = temporaryDirectories();
  const open = (storesEndTime = false) =>
    openLmdbJobCache({ path: join(temporary(), "jobs"), shards: 1, durability: "fsync", storesEndTime });

  it("finds the same jobs by any filter as looking at each would", async () => {
    const cache = open();
    const jobs = Array.from({ length: 300 }, (_, index) => ({
      jid: `2026010203040500${String(index).padStart(4, "0")}`,
      fun: `module${index % 7}.run`,
      tgt: `node${index % 50}.example.com`,
      user: index % 11 === 0 ? "rare" : "root",
    }));
    for (const { jid, ...fields } of jobs) await cache.keepJobs([loadWith(jid, fields)]);
    for (const [fun, tgt, user] of [
      ["module3", "node1", "root"],
      ["module", "node49.", "r"],
      ["3.run", "example", "rare"],
      ["module", "node", "nobody"],
    ] as const) {
      const expected = jobs.filter((job) => job.fun.includes(fun) && job.tgt.includes(tgt) && job.user.includes(user));
      const query = { functions: [containing(fun)], targets: [containing(tgt)], users: [containing(user)] };
      const found: string[] = [];
      for (let before: string | undefined; ; before = found.at(-1)) {
        const page = await cache.find({ ...query, limit: 7, before });
        found.push(...page);
        if (page.length < 7) break;
      }
      assert.deepEqual(found, expected.map(({ jid }) => jid).toReversed());
    }
    await cache.close();
  });

  it("loses a term with its last job, and knows it again when it comes back", async () => {
    const cache = open();
    const find = () => cache.find({ limit: 10, functions: [containing("only")] });
    await cache.keepJobs([loadWith(jidAt(1), { fun: "only.once" })]);
    assert.deepEqual(await find(), [jidAt(1)]);
    await cache.trim({ olderThanJid: jidAt(2), stepsMax: 100 });
    assert.deepEqual(await find(), []);
    await cache.keepJobs([loadWith(jidAt(3), { fun: "only.once" })]);
    assert.deepEqual(await find(), [jidAt(3)]);
    await cache.close();
  });

  it("leaves nothing behind of jobs that are trimmed", async () => {
    const path = join(temporary(), "jobs");
    const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync", storesEndTime: true });
    await cache.keepJobs([loadWith("mine", { user: "anna" })]);
    await cache.keepReturns([returnOf("mine", "a")]);
    for (let second = 1; second <= 20; second += 1) {
      await cache.keepJobs([loadWith(jidAt(second), { tgt: `node${second}` })]);
      await cache.keepReturns([returnOf(jidAt(second), "a")]);
    }
    while ((await cache.trim({ olderThanJid: "20990101000000000000", stepsMax: 7 })).hasMore);
    await cache.close();
    const shards = openShards(path, 1, true);
    for (const { environment, index, ends, loads, returns, others } of shards) {
      const { termIds, ...emptied } = { ...index, ends, loads, returns, others };
      for (const [name, database] of Object.entries(emptied)) assert.deepEqual([...database.getKeys()], [], name);
      assert.equal([...termIds.getKeys()].length, 1, "the last number given");
      await closeEnvironment(environment);
    }
  });

  it("says which are the oldest of too many jobs or bytes, and keeps the latest", async () => {
    const cache = open();
    const body = "x".repeat(200_000);
    for (let second = 1; second <= 9; second += 1) {
      await cache.keepJobs([loadWith(jidAt(second), {})]);
      await cache.keepReturns([returnOf(jidAt(second), "a", body)]);
    }
    const asked = "20000101000000000000";
    const cutFor = async (keep: KeptAmount) => {
      const { olderThanJid } = await cache.trim({ olderThanJid: asked, keep, stepsMax: 0 });
      return olderThanJid === asked ? undefined : olderThanJid;
    };
    assert.equal(await cutFor({ jobsMax: 0, bytesMax: 0 }), undefined);
    assert.equal(await cutFor({ jobsMax: 9, bytesMax: 0 }), undefined);
    assert.equal(await cutFor({ jobsMax: 4, bytesMax: 0 }), jidAt(6));
    await cache.trim({ olderThanJid: jidAt(6), stepsMax: 100 });
    assert.equal(await cutFor({ jobsMax: 4, bytesMax: 0 }), undefined);
    assert.equal(await cutFor({ jobsMax: 0, bytesMax: 10_000_000 }), undefined);
    assert.equal(await cutFor({ jobsMax: 0, bytesMax: 1 }), jidAt(9));
    await cache.trim({ olderThanJid: jidAt(9), stepsMax: 100 });
    assert.equal(await cutFor({ jobsMax: 0, bytesMax: 1 }), undefined, "the last one stays");
    await cache.close();
  });

  it("notes when the last return of a job came, if it is told to", async () => {
    const stamped = (minionId: string, stamp: string) => ({
      jid: jidAt(1),
      minionId,
      body: encode({ return: 1, _stamp: stamp }, "bin"),
    });
    for (const isNoted of [true, false]) {
      const cache = open(isNoted);
      await cache.keepReturns([stamped("a", "2026-01-02T03:04:05.000009"), stamped("b", "2026-01-02T03:04:07.123456")]);
      assert.equal(await cache.endTime(jidAt(1)), "2026, Jan 02 03:04:07.123456", "from the log");
      await cache.trim({ olderThanJid: "20000101000000000000", stepsMax: 1 });
      assert.equal(
        await cache.endTime(jidAt(1)),
        isNoted ? "2026, Jan 02 03:04:07.123456" : undefined,
        "from the store",
      );
      await cache.keepReturns([stamped("c", "2026-01-02T03:04:06")]);
      await cache.trim({ olderThanJid: "20000101000000000000", stepsMax: 1 });
      if (isNoted) assert.equal(await cache.endTime(jidAt(1)), "2026, Jan 02 03:04:07.123456", "the latest stays");
      assert.equal(await cache.endTime(jidAt(2)), undefined);
      await cache.close();
    }
  });

  it("remembers jobs whose returns are not kept", async () => {
    const cache = open();
    await cache.keepJobs([loadWith(jidAt(1), {})]);
    await cache.keepJobs([{ ...loadWith(jidAt(2), {}), isNoCache: true }]);
    assert.deepEqual(await cache.unkeptJobs(), [jidAt(2)]);
    assert.equal((await cache.job(jidAt(2)))?.isNoCache, true);
    assert.equal((await cache.job(jidAt(1)))?.isNoCache, undefined);
    await cache.trim({ olderThanJid: jidAt(3), stepsMax: 100 });
    assert.deepEqual(await cache.unkeptJobs(), []);
    await cache.close();
  });

  it("keeps a job of ours when Salt's record of it comes later", async () => {
    const cache = open();
    await cache.keepJobs([loadOf(jidAt(1), ["a"], { missing: ["b"] })]);
    await cache.keepJobs([
      loadOf(jidAt(1), ["x"], { isTakenOver: true }),
      loadOf(jidAt(2), ["x"], { isTakenOver: true }),
    ]);
    const { minions, missing, isTakenOver } = (await cache.job(jidAt(1))) ?? assert.fail();
    assert.deepEqual([minions, missing, isTakenOver], [["a"], ["b"], undefined]);
    assert.equal((await cache.job(jidAt(2)))?.isTakenOver, true);
    await cache.close();
  });

  it("remembers them on another number of files as well", async () => {
    const path = join(temporary(), "jobs");
    const before = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    await before.keepJobs([loadWith(jidAt(1), {})]);
    await before.keepJobs([{ ...loadWith(jidAt(2), {}), isNoCache: true }]);
    await before.close();
    assert.equal(await reshardJobCache(path, 2), 1);
    const after = openLmdbJobCache({ path, shards: 2, durability: "fsync" });
    assert.deepEqual(await after.unkeptJobs(), [jidAt(2)]);
    await after.close();
  });
});
