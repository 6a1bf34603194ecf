/** The LMDB driver: the contract under each setting, then its own behaviour: threads, other processes, damage. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { openLmdbJobCache } from "../../../../src/store/drivers/lmdb/job-cache.ts";
import { reshardJobCache } from "../../../../src/store/drivers/lmdb/reshard.ts";
import type { Durability } from "../../../../src/store/jobs/job-cache.ts";
import { jobCacheContract } from "../../../contract/job-cache.ts";
import { loadOf, returnOf } from "../../../contract/job-samples.ts";
import { returnsIn } from "../../../contract/returns-in.ts";
import { temporaryDirectories } from "../../temporary.ts";

const jid = "20260102030405000001";
const settings: [Durability, number][] = [
  ["fsync", 1],
  ["fsync", 5],
  ["commit", 1],
  ["async", 1],
];

for (const [durability, shards] of settings) {
  jobCacheContract(
    `lmdb, ${durability}, ${shards} file(s)`,
    async () => {
      const directory = mkdtempSync(join(tmpdir(), "saltworks-lmdb-"));
      const open = () => openLmdbJobCache({ path: join(directory, "jobs.lmdb"), shards, durability });
      let last = open();
      return {
        cache: last,
        reopen: async () => {
          last = open();
          return last;
        },
        remove: async () => {
          await last.close();
          rmSync(directory, { recursive: true });
        },
      };
    },
    { keepsWholeBody: true, keepsMissing: true },
  );
}

describe("the LMDB job cache", () => {
  const temporary = temporaryDirectories();
  const writer = fileURLToPath(new URL("./return-writer.js", import.meta.url));

  it("takes returns from several threads at once, each exactly once", async () => {
    const path = join(temporary(), "jobs");
    const cache = openLmdbJobCache({ path, shards: 2, durability: "fsync" });
    const run = (from: number) =>
      new Promise<string[]>((resolve, reject) => {
        const worker = new Worker(writer, { workerData: { path, shards: 2, jid, from, count: 300 } });
        worker.once("message", resolve);
        worker.once("error", reject);
      });
    const [left, right] = await Promise.all([run(0), run(300)]);
    assert.ok([...(left ?? []), ...(right ?? [])].every((outcome) => outcome === "stored"));
    assert.equal((await returnsIn(cache, jid)).length, 600);
    // Minions 200 to 499 of a later thread were another thread's before.
    assert.ok((await run(200)).every((outcome) => outcome === "duplicate"));
    // Two writers at once for the same minions break the contract, but one return of each is kept.
    await Promise.all([run(600), run(600)]);
    assert.equal((await returnsIn(cache, jid)).length, 900);
    await cache.close();
  });

  it("is read by another process while it is written, which sees each commit", async () => {
    const path = join(temporary(), "jobs");
    const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    const readElsewhere = () => execFileSync(process.execPath, [writer, path, jid], { encoding: "utf8" }).trim();
    await cache.keepReturns([returnOf(jid, "a")]);
    assert.equal(readElsewhere(), "a");
    await cache.keepReturns([returnOf(jid, "b")]);
    assert.equal(readElsewhere(), "a,b");
    await cache.close();
  });

  it("reads a missing cache as empty, and makes nothing", async () => {
    const path = join(temporary(), "jobs");
    const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync", isReadOnly: true });
    assert.deepEqual(await cache.list({ newestFirst: true, limit: 5 }), []);
    assert.deepEqual(await returnsIn(cache, jid), []);
    await assert.rejects(cache.keepReturns([returnOf(jid, "a")]), { code: "STORE_FAILED" });
    assert.equal(existsSync(path), false);
  });

  it("keeps the number of files with which it was made", async () => {
    const path = join(temporary(), "jobs");
    const first = openLmdbJobCache({ path, shards: 3, durability: "fsync" });
    await first.keepReturns(Array.from({ length: 20 }, (_, index) => returnOf(jid, `m${index}`)));
    await first.close();
    const second = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    assert.equal((await returnsIn(second, jid)).length, 20);
    assert.ok(await second.returnOf(jid, "m7"));
    await second.close();
  });

  for (const [from, to] of [
    [1, 4],
    [4, 1],
    [2, 3],
  ] as const) {
    it(`moves to another number of files, ${from} to ${to}, with everything in it`, async () => {
      const path = join(temporary(), "jobs");
      const first = openLmdbJobCache({ path, shards: from, durability: "commit" });
      const jids = [jid, `${jid}_9`, "mine"];
      for (const job of jids) {
        await first.keepJobs([loadOf(job, ["x"])]);
        await first.keepReturns(
          Array.from({ length: 30 }, (_, index) => returnOf(job, `m${index}`, "y".repeat(index * 1_000))),
        );
      }
      const before = await Promise.all(jids.map((job) => returnsIn(first, job)));
      await first.close();
      assert.equal(await reshardJobCache(path, to), from);
      assert.equal(await reshardJobCache(path, to), undefined);
      const second = openLmdbJobCache({ path, shards: to, durability: "fsync" });
      assert.deepEqual(await Promise.all(jids.map((job) => returnsIn(second, job))), before);
      for (const job of jids) {
        assert.ok((await second.returnOf(job, "m17")) !== undefined);
        assert.equal((await second.job(job))?.minions[0], "x");
      }
      assert.deepEqual(await second.keepReturns([returnOf("mine", "m3")]), ["duplicate"]);
      await second.trim({ olderThanJid: "20990101000000000000", stepsMax: 1_000 });
      assert.deepEqual(await second.list({ newestFirst: true, limit: 10 }), []);
      await second.close();
    });
  }

  it("recovers from a move that was cut off at either rename", async () => {
    const path = join(temporary(), "jobs");
    const first = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    await first.keepReturns([returnOf(jid, "a")]);
    await first.close();
    mkdirSync(`${path}.after`);
    assert.equal(await reshardJobCache(path, 1), undefined);
    assert.equal(existsSync(`${path}.after`), false);
    renameSync(path, `${path}.before`);
    assert.equal(await reshardJobCache(path, 2), 1);
    const second = openLmdbJobCache({ path, shards: 2, durability: "fsync" });
    assert.equal((await returnsIn(second, jid)).length, 1);
    await second.close();
  });

  it("is not confused by NUL in a job id", async () => {
    const cache = openLmdbJobCache({ path: join(temporary(), "jobs"), shards: 1, durability: "fsync" });
    await cache.keepReturns([returnOf("odd\0job", "m"), returnOf("odd", "n"), returnOf("odd", "job\u0001")]);
    assert.deepEqual(
      (await returnsIn(cache, "odd")).map(({ minionId }) => minionId),
      ["job\u0001", "n"],
    );
    assert.deepEqual(
      (await returnsIn(cache, "odd\0job")).map(({ minionId }) => minionId),
      ["m"],
    );
    await cache.close();
  });

  it("says STORE_FAILED for a file that is not a cache, and for a layout of the future", () => {
    const path = join(temporary(), "jobs");
    writeFileSync(path, "");
    assert.throws(() => openLmdbJobCache({ path, shards: 1, durability: "fsync" }), { code: "STORE_FAILED" });
    const other = temporary();
    writeFileSync(join(other, "layout.json"), '{"version": 99, "shards": 1}');
    assert.throws(() => openLmdbJobCache({ path: other, shards: 1, durability: "fsync" }), {
      code: "STORE_FAILED",
      message: /layout/,
    });
  });

  it("says STORE_DAMAGED for a damaged or missing data file", async () => {
    const path = join(temporary(), "jobs");
    await openLmdbJobCache({ path, shards: 1, durability: "fsync" }).close();
    const file = join(path, "0.mdb");
    const opening = (isReadOnly: boolean) => () =>
      openLmdbJobCache({ path, shards: 1, durability: "fsync", isReadOnly });
    for (const content of ["x", "y".repeat(100_000)]) {
      writeFileSync(file, content);
      for (const isReadOnly of [true, false]) {
        assert.throws(opening(isReadOnly), { code: "STORE_DAMAGED", message: /damaged/ });
      }
    }
    writeFileSync(file, "");
    assert.throws(opening(true), { code: "STORE_FAILED", message: /nothing was stored/ });
  });

  it("under async, has everything on close, also what was too large for the log", async () => {
    const path = join(temporary(), "jobs");
    const cache = openLmdbJobCache({ path, shards: 1, durability: "async" });
    const big = "x".repeat(8 * 1024 * 1024);
    for (let index = 0; index < 20; index += 1) await cache.keepReturns([returnOf(jid, `m${index}`, big)]);
    await cache.close();
    const again = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
    assert.equal((await returnsIn(again, jid)).length, 20);
    await again.close();
  });

  it("does not let the caller's later changes into what it stores under async", async () => {
    const cache = openLmdbJobCache({ path: join(temporary(), "jobs"), shards: 1, durability: "async" });
    const record = returnOf(jid, "a", "kept");
    const before = Buffer.from(record.body);
    await cache.keepReturns([record]);
    record.body.fill(0);
    while ((await cache.returnOf(jid, "a")) === undefined) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(Buffer.from((await cache.returnOf(jid, "a")) ?? []), before);
    await cache.close();
  });

  it("finds loads that another cache has put", async () => {
    const path = join(temporary(), "jobs");
    const cache = openLmdbJobCache({ path, shards: 4, durability: "commit" });
    const jids = Array.from({ length: 50 }, (_, index) => `202601020304050000${String(index).padStart(2, "0")}`);
    await Promise.all(jids.map((job) => cache.keepJobs([loadOf(job)])));
    assert.deepEqual(await cache.list({ newestFirst: false, limit: 100 }), jids);
    await cache.close();
  });
});
