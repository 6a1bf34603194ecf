/** Reads with a database behind the local store: local while the store has the job, and never an answer without what either has. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { withDatabaseBehind } from "../../src/databases/reader-behind.ts";
import { SaltworksError } from "../../src/errors.ts";
import { allReturns, type JobCacheReader } from "../../src/store/jobs/job-cache.ts";
import { loadOf, returnOf } from "../contract/job-samples.ts";
import { memoryDriver } from "../store/drivers/memory-driver.ts";

type Reader = Omit<JobCacheReader, "list">;

const newJid = "20260102030405000001";
const oldJid = "20250102030405000001";

function memory() {
  return memoryDriver().open({ cachedir: "", hash_type: "sha256" }, {});
}

/** A database that cannot be reached. Each question fails. */
const down = new Proxy({} as Reader, {
  get: () => async () => {
    throw new SaltworksError("DATABASE_FAILED", "mysql://db:3306/salt: refused");
  },
});

async function site() {
  const [local, behind] = [memory(), memory()];
  await local.keepJobs([loadOf(newJid)]);
  await local.keepReturns([returnOf(newJid, "a"), returnOf(oldJid, "late")]);
  await behind.keepJobs([loadOf(newJid), loadOf(oldJid)]);
  await behind.keepReturns([returnOf(newJid, "copied"), returnOf(oldJid, "a"), returnOf(oldJid, "late")]);
  const notes: string[] = [];
  const open = (database: Reader, areReturnsBehind = false) =>
    withDatabaseBehind(local, database, { areReturnsBehind, onLeftOut: (text) => notes.push(text) });
  return { local, behind, notes, open };
}

async function idsOf(jobs: Parameters<typeof allReturns>[0], jid: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { minionId } of allReturns(jobs, jid)) ids.push(minionId);
  return ids;
}

describe("a database behind the local store", () => {
  it("is not asked for a job that the local store has", async () => {
    const { open, notes } = await site();
    const jobs = open(down);
    assert.deepEqual(await idsOf(jobs, newJid), ["a"]);
    assert.ok((await jobs.job(newJid)) !== undefined);
    assert.deepEqual(notes, []);
  });

  it("has the jobs that the local store removed, joined with returns that came later", async () => {
    const { open, behind } = await site();
    const jobs = open(behind);
    assert.deepEqual(await idsOf(jobs, oldJid), ["a", "late"]);
    assert.ok((await jobs.returnOf(oldJid, "a")) !== undefined);
    assert.ok((await jobs.request(oldJid)) !== undefined);
    assert.deepEqual(await jobs.find({ limit: 10 }), [newJid, oldJid]);
    assert.deepEqual(await jobs.find({ limit: 1 }), [newJid]);
  });

  it("has the returns of every job that minions write themselves", async () => {
    const { open, behind } = await site();
    assert.deepEqual(await idsOf(open(behind, true), newJid), ["a", "copied"]);
  });

  it("pages over both without leaving out a minion", async () => {
    const { local, behind, open } = await site();
    const jid = "20240102030405000001";
    const ids = Array.from({ length: 40 }, (_, index) => `m${String(index).padStart(2, "0")}`);
    await local.keepReturns(ids.filter((_, index) => index % 3 === 0).map((id) => returnOf(jid, id)));
    await behind.keepReturns(
      ids.filter((_, index) => index % 2 === 0 || index % 3 !== 0).map((id) => returnOf(jid, id)),
    );
    const found: string[] = [];
    for (let after: string | undefined; ; after = found.at(-1)) {
      const { returns, hasMore } = await open(behind).returns(jid, { after, limit: 7, bytesMax: 1_000_000 });
      found.push(...returns.map(({ minionId }) => minionId));
      if (!hasMore) break;
    }
    assert.deepEqual(found, ids);
  });

  it("costs only its part of an answer when it cannot be asked, and the caller is told", async () => {
    const { open, notes } = await site();
    assert.deepEqual(await open(down).find({ limit: 10 }), [newJid]);
    assert.deepEqual(await idsOf(open(down), oldJid), ["late"]);
    assert.match(notes[0] ?? "", /only the database has is left out: mysql:\/\/db:3306\/salt: refused/);
  });
});
