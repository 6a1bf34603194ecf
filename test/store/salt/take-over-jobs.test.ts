/** The jobs of a former Salt master: which are taken over, and when. */
import assert from "node:assert/strict";
import { chmodSync, cpSync, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { SaltworksError } from "../../../src/errors.ts";
import { saltFileBytesMax } from "../../../src/limits.ts";
import { openLmdbJobCache } from "../../../src/store/drivers/lmdb/job-cache.ts";
import type { JobCache } from "../../../src/store/jobs/job-cache.ts";
import { jobDirectory, jobsDirectory } from "../../../src/store/salt/job-files.ts";
import { openLocalCache } from "../../../src/store/salt/local-cache.ts";
import { withLocalCache } from "../../../src/store/salt/merged-reader.ts";
import { hasChangedJobs, JobTakeOver } from "../../../src/store/salt/take-over-jobs.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { loadOf, returnOf } from "../../contract/job-samples.ts";
import { returnsIn } from "../../contract/returns-in.ts";
import { temporaryDirectories } from "../temporary.ts";
import { put } from "./salt-file.ts";

const hashType = "sha256";
const oldJid = "20260102030405000001";
const newJid = "20260102030405000002";

describe("taking over jobs", () => {
  const temporary = temporaryDirectories();
  let cachedir: string;
  let jobs: JobCache;
  beforeEach(() => {
    cachedir = temporary();
    jobs = openLmdbJobCache({ path: join(cachedir, "jobs.lmdb"), shards: 1, durability: "commit" });
  });
  afterEach(() => jobs.close());

  async function take(olderThanJid = "20000101000000000000"): Promise<[taken: number, faults: string[]]> {
    const taking = new JobTakeOver({ cachedir, hashType, jobs, files: openLocalCache({ cachedir, hashType }) });
    return takeAll(taking, olderThanJid);
  }
  async function takeAll(
    taking: JobTakeOver,
    olderThanJid: string,
    sinceMs = 0,
    isBrief = false,
  ): Promise<[taken: number, faults: string[]]> {
    const faults: string[] = [];
    let taken = 0;
    for (let isDone = false; !isDone; ) {
      const step = await taking.step({ sinceMs, olderThanJid, isBrief });
      taken += step.taken;
      faults.push(...step.faults.map(({ file }) => file));
      isDone = step.isDone;
    }
    return [taken, faults];
  }
  /** Job ids whose directories are in the same folder, and the folder's name. */
  function sameHead(count: number): string[] {
    const byHead = new Map<string, string[]>();
    for (let index = 0; ; index += 1) {
      const jid = `2026010203040506${String(index).padStart(4, "0")}`;
      const head = dirname(jobDirectory(cachedir, hashType, jid));
      const jids = [...(byHead.get(head) ?? []), jid];
      if (jids.length === count) return [head, ...jids];
      byHead.set(head, jids);
    }
  }
  const reader = () => withLocalCache(jobs, { cachedir, hashType, place: cachedir });
  /** Waits for the next step of the file system's clock. @returns its time afterwards */
  async function changesLaterThan(ms: number): Promise<number> {
    const probe = join(temporary(), "probe");
    for (;;) {
      writeFileSync(probe, "");
      chmodSync(probe, 0o600);
      const { ctimeMs } = statSync(probe);
      if (ctimeMs > ms) return ctimeMs;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  it("finds old jobs in lists and searches, and their returns together with later returns", async () => {
    const salt = openLocalCache({ cachedir, hashType });
    await salt.keepJobs([loadOf(oldJid, ["a", "b"])]);
    await salt.keepReturns([returnOf(oldJid, "a", "salt's")]);
    await jobs.keepJobs([loadOf(newJid)]);
    await jobs.keepReturns([returnOf(newJid, "a"), returnOf(oldJid, "b", "ours"), returnOf(oldJid, "a", "late")]);
    assert.deepEqual(await take(), [1, []]);
    assert.deepEqual(await take(), [0, []], "each once");
    assert.deepEqual(await reader().find({ limit: 10 }), [newJid, oldJid]);
    assert.deepEqual((await reader().job(oldJid))?.minions, ["a", "b"]);
    const values = (await returnsIn(reader(), oldJid)).map(({ minionId, body }) => [
      minionId,
      (decode(body) as Map<string, unknown>).get("return"),
    ]);
    assert.deepEqual(values, [
      ["a", "salt's"],
      ["b", "ours"],
    ]);
  });

  it("briefly looks at directories that changed themselves: a job that was copied in with its old times is found", async () => {
    const salt = openLocalCache({ cachedir, hashType });
    // In one folder, as on a busy site.
    const [head, ...jids] = sameHead(3);
    const [known = "", moved = "", broken = ""] = jids;
    await salt.keepJobs([loadOf(known)]);
    put(join(jobDirectory(cachedir, hashType, broken), ".load.p"), Buffer.from([0xc1]));
    const taking = new JobTakeOver({ cachedir, hashType, jobs, files: salt });
    const { ctimeMs } = statSync(jobDirectory(cachedir, hashType, broken));
    const sinceMs = Math.max(ctimeMs, statSync(jobDirectory(cachedir, hashType, known)).ctimeMs);
    await changesLaterThan(sinceMs);
    const elsewhere = temporary();
    const there = openLocalCache({ cachedir: elsewhere, hashType });
    await there.keepJobs([loadOf(moved)]);
    const from = jobDirectory(elsewhere, hashType, moved);
    utimesSync(join(from, ".load.p"), 1_000_000, 1_000_000);
    cpSync(from, jobDirectory(cachedir, hashType, moved), { recursive: true, preserveTimestamps: true });
    const olderThanJid = "20000101000000000000";
    assert.deepEqual(await takeAll(taking, olderThanJid, sinceMs, true), [1, []], head);
    assert.deepEqual(await reader().find({ limit: 10 }), [moved]);
    const whole = new JobTakeOver({ cachedir, hashType, jobs, files: salt });
    const [taken, faults] = await takeAll(whole, olderThanJid, sinceMs);
    assert.deepEqual([taken, faults.length], [1, 1], "the other job of the folder, and the broken one");
  });

  it("finds a job by its id before it is taken over, and all before this master has any", async () => {
    const salt = openLocalCache({ cachedir, hashType });
    await salt.keepJobs([loadOf(oldJid)]);
    await salt.keepReturns([returnOf(oldJid, "a")]);
    assert.equal((await returnsIn(reader(), oldJid)).length, 1);
    assert.deepEqual(await reader().find({ limit: 10 }), [oldJid]);
  });

  it("names loads that cannot be read or are too large, and leaves out jobs about to be removed", async () => {
    const salt = openLocalCache({ cachedir, hashType });
    for (const jid of [oldJid, newJid]) await salt.keepJobs([loadOf(jid)]);
    assert.deepEqual(await take("20260102030405000002"), [1, []]);
    const loadFileOf = (jid: string) => join(jobDirectory(cachedir, hashType, jid), ".load.p");
    const [bad, large] = [loadFileOf("20260102030405000003"), loadFileOf("20260102030405000004")];
    put(bad, Buffer.of(0x82));
    put(large, { jid: "20260102030405000004" });
    truncateSync(large, saltFileBytesMax + 1);
    const [taken, faults] = await take("20260102030405000002");
    assert.deepEqual([taken, faults.toSorted()], [0, [bad, large].toSorted()]);
  });

  it("names jobs that stand under another hash_type", async () => {
    await openLocalCache({ cachedir, hashType: "md5" }).keepJobs([loadOf(oldJid)]);
    const step = await new JobTakeOver({
      cachedir,
      hashType,
      jobs,
      files: openLocalCache({ cachedir, hashType }),
    }).step({
      sinceMs: 0,
      olderThanJid: "20000101000000000000",
    });
    assert.deepEqual([step.taken, step.leftOut], [0, 1]);
    assert.match(step.faults[0]?.reason ?? "", /hash_type sha256 has another directory for job 20260102030405000001/);
  });

  it("names folders that cannot be read, and takes the others", async () => {
    await openLocalCache({ cachedir, hashType }).keepJobs([loadOf(oldJid)]);
    const loop = join(jobsDirectory(cachedir), "zz");
    symlinkSync("zz", loop);
    assert.deepEqual(await take(), [1, [loop]]);
    assert.equal(hasChangedJobs(cachedir, Date.now() + 60_000), true, "it is to be told");
  });

  it("reads no job of a folder that only got another owner, and the jobs that were copied or moved in", async () => {
    const salt = openLocalCache({ cachedir, hashType });
    const [copied, moved] = ["20260102030405000003", "20260102030405000004"];
    for (const jid of [oldJid, moved]) await salt.keepJobs([loadOf(jid)]);
    const folderOf = (jid: string) => dirname(jobDirectory(cachedir, hashType, jid));
    const loadFileOf = (jid: string) => join(jobDirectory(cachedir, hashType, jid), ".load.p");
    const newest = Math.max(...[oldJid, moved].map((jid) => statSync(loadFileOf(jid)).ctimeMs));
    const sinceMs = await changesLaterThan(newest);
    await changesLaterThan(sinceMs);
    await salt.keepJobs([loadOf(copied)]);
    for (const path of [loadFileOf(oldJid), loadFileOf(copied), ...[oldJid, copied, moved].map(folderOf)]) {
      chmodSync(path, 0o700);
      utimesSync(path, 1_000_000, 1_000_000);
    }
    const looked: string[] = [];
    const watched: Pick<JobCache, "request" | "keepJobs"> = {
      request: async (jid) => void looked.push(jid),
      keepJobs: (loads) => jobs.keepJobs(loads),
    };
    const begun = () =>
      new JobTakeOver({ cachedir, hashType, jobs: watched, files: openLocalCache({ cachedir, hashType }) });
    const top = jobsDirectory(cachedir);
    utimesSync(top, 1_000_000, 1_000_000);
    assert.deepEqual(await takeAll(begun(), "20000101000000000000", sinceMs), [2, []]);
    assert.deepEqual(looked.splice(0).toSorted(), [copied, moved]);
    utimesSync(top, new Date(), new Date());
    assert.deepEqual(await takeAll(begun(), "20000101000000000000", sinceMs), [3, []], "folders came into it");
  });

  it("names what our own store cannot read or take, and takes the others", async () => {
    const salt = openLocalCache({ cachedir, hashType });
    const [longest, tooLong] = ["j".repeat(1_024), "k".repeat(1_025)];
    for (const jid of [oldJid, newJid, "odd", longest, tooLong]) await salt.keepJobs([loadOf(jid)]);
    const damaged: Pick<JobCache, "request" | "keepJobs"> = {
      request: async (jid) => {
        if (jid === newJid) throw new SaltworksError("WIRE_TRUNCATED", "bytes end");
        return await jobs.request(jid);
      },
      keepJobs: async (loads) => {
        if (loads.some(({ jid }) => jid === "odd")) throw new SaltworksError("STORE_DAMAGED", "its index is damaged");
        await jobs.keepJobs(loads);
      },
    };
    const taking = new JobTakeOver({
      cachedir,
      hashType,
      jobs: damaged,
      files: openLocalCache({ cachedir, hashType }),
    });
    const [taken, faults] = await takeAll(taking, "20000101000000000000");
    const filesOf = (...jids: string[]) => jids.map((jid) => join(jobDirectory(cachedir, hashType, jid), ".load.p"));
    assert.deepEqual([taken, faults.toSorted()], [2, filesOf(newJid, "odd", tooLong).toSorted()]);
    assert.ok(await jobs.request(oldJid));
    await jobs.keepReturns([returnOf(longest, "m".repeat(255))]);
    assert.equal((await returnsIn(jobs, longest)).length, 1);
  });

  it("begins anew after a step that failed", async () => {
    await openLocalCache({ cachedir, hashType }).keepJobs([loadOf(oldJid)]);
    let failures = 1;
    const full: Pick<JobCache, "request" | "keepJobs"> = {
      request: (jid) => jobs.request(jid),
      keepJobs: (loads) => {
        failures -= 1;
        return failures < 0 ? jobs.keepJobs(loads) : Promise.reject(new SaltworksError("STORE_FAILED", "disk full"));
      },
    };
    const files = openLocalCache({ cachedir, hashType });
    const taking = new JobTakeOver({ cachedir, hashType, jobs: full, files });
    await assert.rejects(taking.step({ sinceMs: 0, olderThanJid: oldJid }), { code: "STORE_FAILED" });
    assert.deepEqual(await takeAll(taking, oldJid), [1, []]);
    assert.ok(await jobs.request(oldJid));
  });

  it("looks into folders that changed since, and no others", async () => {
    assert.equal(hasChangedJobs(cachedir, 0), false);
    await openLocalCache({ cachedir, hashType }).keepJobs([loadOf(oldJid)]);
    assert.equal(hasChangedJobs(cachedir, Date.now() - 60_000), true);
    const folder = join(jobDirectory(cachedir, hashType, oldJid), "..");
    utimesSync(folder, 1_000_000, 1_000_000);
    assert.equal(hasChangedJobs(cachedir, Date.now() - 60_000), true, "copied with its time");
    assert.equal(hasChangedJobs(cachedir, Date.now() + 60_000), false);
  });
});
