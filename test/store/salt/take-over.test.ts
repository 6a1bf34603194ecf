/** What a Salt master left: minions' data in either layout, its jobs, and how Salt is found. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { SaltworksError } from "../../../src/errors.ts";
import { saltFileBytesMax } from "../../../src/limits.ts";
import type { JobCache } from "../../../src/store/job-cache.ts";
import { openLmdbJobCache } from "../../../src/store/lmdb-job-cache.ts";
import { openLocalCache } from "../../../src/store/local-cache-driver.ts";
import { jobDirectory, jobsDirectory } from "../../../src/store/local-cache-files.ts";
import { type MinionData, openMinionData } from "../../../src/store/minion-data.ts";
import { AliveMark } from "../../../src/store/salt/alive-mark.ts";
import { findSaltFiles, findSaltPrograms } from "../../../src/store/salt/detect.ts";
import { withOldJobs } from "../../../src/store/salt/job-reader.ts";
import { layoutsIn } from "../../../src/store/salt/minion-files.ts";
import { hasChangedJobs, OldJobs } from "../../../src/store/salt/old-jobs.ts";
import { type TakeOverOptions, takeOverMinionData } from "../../../src/store/salt/take-over.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import { loadOf, returnOf } from "../../contract/job-cache.ts";
import { temporaryDirectories } from "../temporary.ts";

const hashType = "sha256";
const oldJid = "20260102030405000001";
const newJid = "20260102030405000002";

function put(path: string, value: Encodable | Buffer, changedMs?: number): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, Buffer.isBuffer(value) ? value : encode(value, "bin"));
  if (changedMs !== undefined) utimesSync(path, changedMs / 1_000, changedMs / 1_000);
}

describe("taking over minions' data", () => {
  const temporary = temporaryDirectories();
  let cachedir: string;
  let minions: MinionData;
  let faults: string[];
  beforeEach(() => {
    cachedir = temporary();
    minions = openMinionData({ path: join(cachedir, "minions.lmdb") });
    faults = [];
  });
  afterEach(() => minions.close());

  const take = (o: Partial<TakeOverOptions> = {}) =>
    takeOverMinionData({
      cachedir,
      ids: ["a", "b"],
      minions,
      sinceMs: 0,
      readMs: 0,
      isOutdated: () => false,
      keeps: { facts: true, mines: true },
      onProgress: () => undefined,
      onFault: ({ file }) => faults.push(file),
      ...o,
    });
  const stored = (id: string) => {
    const facts = minions.get(id);
    return facts && [decode(facts.grains), decode(facts.pillar)];
  };

  it("reads the folders of 3006 and 3007, of accepted minions only", async () => {
    for (const id of ["a", "stranger"]) {
      put(join(cachedir, "minions", id, "data.p"), { grains: { os: "Debian" }, pillar: { role: "web" } });
      put(join(cachedir, "minions", id, "mine.p"), { ip: { __saltmine_acl__: 1, __data__: "::1", allow_tgt: "b" } });
    }
    assert.deepEqual(await take(), { facts: 1, mines: 1, faults: 0 });
    assert.deepEqual(stored("a"), [new Map([["os", "Debian"]]), new Map([["role", "web"]])]);
    assert.deepEqual(
      decode(minions.getMine("a") ?? Buffer.alloc(0)),
      new Map([
        ["ip", new Map<string, unknown>(Object.entries({ __saltmine_acl__: 1, __data__: "::1", allow_tgt: "b" }))],
      ]),
    );
    assert.equal(minions.get("stranger"), undefined);
  });

  it("reads the kinds of 3008, and of both layouts what is newer", async () => {
    put(join(cachedir, "minions", "a", "data.p"), { grains: { from: "3007" }, pillar: { from: "3007" } }, 1_000_000);
    put(join(cachedir, "grains", "a.p"), { from: "3008" }, 2_000_000);
    put(join(cachedir, "mine", "b.p"), { x: 1 });
    assert.deepEqual(await take(), { facts: 1, mines: 1, faults: 0 });
    assert.deepEqual(stored("a"), [new Map([["from", "3008"]]), new Map([["from", "3007"]])]);
    assert.ok(minions.getMine("b"));
  });

  it("names files that cannot be read, and takes the others", async () => {
    const bad = join(cachedir, "minions", "a", "data.p");
    put(bad, Buffer.of(0x82, 0xa1));
    put(join(cachedir, "minions", "a", "mine.p"), { x: 1 });
    put(join(cachedir, "minions", "b", "mine.p"), Buffer.from([0xc0]));
    assert.deepEqual(await take(), { facts: 0, mines: 1, faults: 2 });
    assert.deepEqual(faults, [bad, join(cachedir, "minions", "b", "mine.p")]);
  });

  it("leaves alone what is older than this master's last sign of life, and takes what Salt wrote after it", async () => {
    const mark = new AliveMark(join(cachedir, "mark"));
    assert.equal(mark.sinceMs, 0);
    await minions.putGrains("a", encode({ os: "ours" }, "bin"), encode({}, "bin"));
    put(join(cachedir, "minions", "a", "data.p"), { grains: { os: "old" }, pillar: {} }, Date.now() - 60_000);
    mark.set("found");
    mark.end();
    assert.equal(mark.text, "found");
    const seen = { sinceMs: mark.sinceMs, readMs: mark.sinceMs };
    assert.deepEqual(await take(seen), { facts: 0, mines: 0, faults: 0 });
    put(join(cachedir, "minions", "a", "data.p"), { grains: { os: "new" }, pillar: {} }, Date.now() + 5_000);
    assert.equal((await take(seen)).facts, 1);
    assert.deepEqual(stored("a")?.[0], new Map([["os", "new"]]));
  });

  it("fills only what is missing where no sign of life tells which is newer", async () => {
    await minions.putGrains("a", encode({ os: "ours" }, "bin"), encode({}, "bin"));
    await minions.putMine("b", encode({ ip: "ours" }, "bin"));
    for (const id of ["a", "b"]) {
      put(join(cachedir, "minions", id, "data.p"), { grains: { os: "old" }, pillar: { role: "old" } });
      put(join(cachedir, "minions", id, "mine.p"), { ip: "old" });
    }
    assert.deepEqual(await take(), { facts: 1, mines: 1, faults: 0 });
    assert.deepEqual(stored("a"), [new Map([["os", "ours"]]), new Map()], "an empty pillar is one");
    assert.deepEqual(stored("b"), [new Map([["os", "old"]]), new Map([["role", "old"]])]);
    const mineOf = (id: string) => decode(minions.getMine(id) ?? Buffer.alloc(0));
    assert.deepEqual([mineOf("a"), mineOf("b")], [new Map([["ip", "old"]]), new Map([["ip", "ours"]])]);
  });

  it("does not count what says the same as our store, as files that were kept current do", async () => {
    await minions.putGrains("a", encode({ os: "ours" }, "bin"), encode({}, "bin"));
    put(join(cachedir, "minions", "a", "data.p"), { grains: { os: "ours" }, pillar: {} });
    assert.deepEqual(await take(), { facts: 0, mines: 0, faults: 0 });
    assert.deepEqual(await take({ sinceMs: 1 }), { facts: 0, mines: 0, faults: 0 });
  });

  it("takes what was copied in with its old time after the files were last read, and not what was there then", async () => {
    const copiedMs = Date.now() - 3_600_000;
    put(join(cachedir, "minions", "a", "mine.p"), { ip: "old" }, copiedMs);
    assert.equal((await take({ sinceMs: Date.now() + 3_000, readMs: Date.now() - 60_000 })).mines, 1);
    await minions.dropMine("a");
    assert.equal((await take({ sinceMs: Date.now() + 3_000, readMs: Date.now() + 60_000 })).mines, 0);
    await minions.putMine("a", encode({}, "bin"));
    assert.equal((await take({ sinceMs: Date.now() + 3_000, readMs: Date.now() - 60_000 })).mines, 0, "one of its own");
  });

  const old = (id: string) => {
    put(join(cachedir, "minions", id, "data.p"), { grains: { os: "old" }, pillar: { role: "old" } }, 1_000_000);
    put(join(cachedir, "minions", id, "mine.p"), { ip: "old" }, 1_000_000);
  };
  const copiedIn = () => ({ sinceMs: Date.now() + 3_000, readMs: Date.now() - 60_000 });

  it("gives a minion that signed in before its files were copied in its former mine, and leaves it its new pillar", async () => {
    await minions.putGrains("a", encode({ os: "new" }, "bin"), encode({}, "bin"));
    old("a");
    assert.deepEqual(await take(copiedIn()), { facts: 0, mines: 1, faults: 0 });
    assert.deepEqual(stored("a"), [new Map([["os", "new"]]), new Map()]);
  });

  it("brings back nothing that an operator cleared, and what a Salt master wrote since", async () => {
    for (const id of ["a", "b"]) {
      await minions.putGrains(id, encode({ os: "x" }, "bin"), encode({ role: "x" }, "bin"));
      await minions.putMine(id, encode({ ip: "x" }, "bin"));
      old(id);
    }
    await Promise.all([minions.dropFacts("a"), minions.dropMine("a"), minions.drop("b")]);
    assert.deepEqual(await take(copiedIn()), { facts: 0, mines: 0, faults: 0 });
    assert.deepEqual(await take(), { facts: 0, mines: 0, faults: 0 }, "without a mark");
    put(join(cachedir, "minions", "a", "mine.p"), { ip: "newer" }, Date.now() + 60_000);
    assert.deepEqual(await take(copiedIn()), { facts: 0, mines: 1, faults: 0 });
  });

  it("knows what was cleared for as long as the key is accepted or Salt has files", async () => {
    old("gone");
    await Promise.all(["a", "gone", "goner"].map((id) => minions.drop(id)));
    await take();
    assert.deepEqual(minions.forgottenIds(), ["a", "gone"]);
    await minions.close();
    minions = openMinionData({ path: join(cachedir, "minions.lmdb") });
    assert.deepEqual([minions.isForgotten("a", "facts"), minions.isForgotten("a", "mine")], [true, true]);
  });

  it("does not fill from files that were to be written anew", async () => {
    old("a");
    old("b");
    assert.equal((await take({ ...copiedIn(), isOutdated: (id) => id === "a" })).facts, 1);
    assert.deepEqual([stored("a"), minions.getMine("a")], [undefined, undefined]);
  });
});

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
    const taking = new OldJobs({ cachedir, hashType, jobs, files: openLocalCache({ cachedir, hashType }) });
    return takeAll(taking, olderThanJid);
  }
  async function takeAll(
    taking: OldJobs,
    olderThanJid: string,
    sinceMs = 0,
  ): Promise<[taken: number, faults: string[]]> {
    const faults: string[] = [];
    let taken = 0;
    for (let isDone = false; !isDone; ) {
      const step = await taking.step({ sinceMs, olderThanJid });
      taken += step.taken;
      faults.push(...step.faults.map(({ file }) => file));
      isDone = step.isDone;
    }
    return [taken, faults];
  }
  const reader = () => withOldJobs(jobs, { cachedir, hashType });
  /** The file system's clock goes in steps. @returns its time after this one */
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

  it("finds old jobs in lists and searches, and their returns together with those that came since", async () => {
    const salt = openLocalCache({ cachedir, hashType });
    await salt.putLoad(loadOf(oldJid, ["a", "b"]));
    await salt.putReturns([returnOf(oldJid, "a", "salt's")]);
    await jobs.putLoad(loadOf(newJid));
    await jobs.putReturns([returnOf(newJid, "a"), returnOf(oldJid, "b", "ours"), returnOf(oldJid, "a", "late")]);
    assert.deepEqual(await take(), [1, []]);
    assert.deepEqual(await take(), [0, []], "each once");
    assert.deepEqual(reader().findJids({ limit: 10 }), [newJid, oldJid]);
    assert.deepEqual(reader().getLoad(oldJid)?.minions, ["a", "b"]);
    const values = reader()
      .getReturns(oldJid)
      .map(({ minionId, body }) => [minionId, (decode(body) as Map<string, unknown>).get("return")]);
    assert.deepEqual(values, [
      ["a", "salt's"],
      ["b", "ours"],
    ]);
  });

  it("finds a job by its id before it is taken over, and all before this master has any", async () => {
    const salt = openLocalCache({ cachedir, hashType });
    await salt.putLoad(loadOf(oldJid));
    await salt.putReturns([returnOf(oldJid, "a")]);
    assert.equal(reader().getReturns(oldJid).length, 1);
    assert.deepEqual(reader().findJids({ limit: 10 }), [oldJid]);
  });

  it("names loads that cannot be read or are too large, and leaves out jobs about to be removed", async () => {
    const salt = openLocalCache({ cachedir, hashType });
    for (const jid of [oldJid, newJid]) await salt.putLoad(loadOf(jid));
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
    await openLocalCache({ cachedir, hashType: "md5" }).putLoad(loadOf(oldJid));
    const step = await new OldJobs({ cachedir, hashType, jobs, files: openLocalCache({ cachedir, hashType }) }).step({
      sinceMs: 0,
      olderThanJid: "20000101000000000000",
    });
    assert.deepEqual([step.taken, step.leftOut], [0, 1]);
    assert.match(step.faults[0]?.reason ?? "", /hash_type sha256 has another directory for job 20260102030405000001/);
  });

  it("names folders that cannot be read, and takes the others", async () => {
    await openLocalCache({ cachedir, hashType }).putLoad(loadOf(oldJid));
    const loop = join(jobsDirectory(cachedir), "zz");
    symlinkSync("zz", loop);
    assert.deepEqual(await take(), [1, [loop]]);
    assert.equal(hasChangedJobs(cachedir, Date.now() + 60_000), true, "it is to be told");
  });

  it("reads no job of a folder that only got another owner, and those that were copied or moved in", async () => {
    const salt = openLocalCache({ cachedir, hashType });
    const [copied, moved] = ["20260102030405000003", "20260102030405000004"];
    for (const jid of [oldJid, moved]) await salt.putLoad(loadOf(jid));
    const folderOf = (jid: string) => dirname(jobDirectory(cachedir, hashType, jid));
    const loadFileOf = (jid: string) => join(jobDirectory(cachedir, hashType, jid), ".load.p");
    const newest = Math.max(...[oldJid, moved].map((jid) => statSync(loadFileOf(jid)).ctimeMs));
    const sinceMs = await changesLaterThan(newest);
    await changesLaterThan(sinceMs);
    await salt.putLoad(loadOf(copied));
    for (const path of [loadFileOf(oldJid), loadFileOf(copied), ...[oldJid, copied, moved].map(folderOf)]) {
      chmodSync(path, 0o700);
      utimesSync(path, 1_000_000, 1_000_000);
    }
    const looked: string[] = [];
    const watched: Pick<JobCache, "getRequest" | "putLoads"> = {
      getRequest: (jid) => void looked.push(jid),
      putLoads: (loads) => jobs.putLoads(loads),
    };
    const taking = new OldJobs({ cachedir, hashType, jobs: watched, files: openLocalCache({ cachedir, hashType }) });
    assert.deepEqual(await takeAll(taking, "20000101000000000000", sinceMs), [2, []]);
    assert.deepEqual(looked.toSorted(), [copied, moved]);
  });

  it("names what our own store cannot read or take, and takes the others", async () => {
    const salt = openLocalCache({ cachedir, hashType });
    const [longest, tooLong] = ["j".repeat(1_024), "k".repeat(1_025)];
    for (const jid of [oldJid, newJid, "odd", longest, tooLong]) await salt.putLoad(loadOf(jid));
    const damaged: Pick<JobCache, "getRequest" | "putLoads"> = {
      getRequest: (jid) => {
        if (jid === newJid) throw new SaltworksError("WIRE_TRUNCATED", "bytes end");
        return jobs.getRequest(jid);
      },
      putLoads: async (loads) => {
        if (loads.some(({ jid }) => jid === "odd")) throw new SaltworksError("STORE_DAMAGED", "its index is damaged");
        await jobs.putLoads(loads);
      },
    };
    const taking = new OldJobs({ cachedir, hashType, jobs: damaged, files: openLocalCache({ cachedir, hashType }) });
    const [taken, faults] = await takeAll(taking, "20000101000000000000");
    const filesOf = (...jids: string[]) => jids.map((jid) => join(jobDirectory(cachedir, hashType, jid), ".load.p"));
    assert.deepEqual([taken, faults.toSorted()], [2, filesOf(newJid, "odd", tooLong).toSorted()]);
    assert.ok(jobs.getRequest(oldJid));
    await jobs.putReturns([returnOf(longest, "m".repeat(255))]);
    assert.equal(jobs.getReturns(longest).length, 1);
  });

  it("begins anew after a step that failed", async () => {
    await openLocalCache({ cachedir, hashType }).putLoad(loadOf(oldJid));
    let failures = 1;
    const full: Pick<JobCache, "getRequest" | "putLoads"> = {
      getRequest: (jid) => jobs.getRequest(jid),
      putLoads: (loads) => {
        failures -= 1;
        return failures < 0 ? jobs.putLoads(loads) : Promise.reject(new SaltworksError("STORE_FAILED", "disk full"));
      },
    };
    const files = openLocalCache({ cachedir, hashType });
    const taking = new OldJobs({ cachedir, hashType, jobs: full, files });
    await assert.rejects(taking.step({ sinceMs: 0, olderThanJid: oldJid }), { code: "STORE_FAILED" });
    assert.deepEqual(await takeAll(taking, oldJid), [1, []]);
    assert.ok(jobs.getRequest(oldJid));
  });

  it("looks into folders that changed since, and no others", async () => {
    assert.equal(hasChangedJobs(cachedir, 0), false);
    await openLocalCache({ cachedir, hashType }).putLoad(loadOf(oldJid));
    assert.equal(hasChangedJobs(cachedir, Date.now() - 60_000), true);
    const folder = join(jobDirectory(cachedir, hashType, oldJid), "..");
    utimesSync(folder, 1_000_000, 1_000_000);
    assert.equal(hasChangedJobs(cachedir, Date.now() - 60_000), true, "copied with its time");
    assert.equal(hasChangedJobs(cachedir, Date.now() + 60_000), false);
  });
});

describe("finding Salt", () => {
  const temporary = temporaryDirectories();

  it("names its programs in PATH, and what its master left", () => {
    const cachedir = temporary();
    const bin = join(cachedir, "bin");
    put(join(bin, "salt-run"), Buffer.from("#!/bin/sh\n"));
    assert.deepEqual(
      findSaltPrograms(`/nowhere:${bin}`).filter((file) => file.startsWith(cachedir)),
      [join(bin, "salt-run")],
    );
    assert.deepEqual(findSaltFiles(cachedir), []);
    assert.deepEqual(layoutsIn(cachedir), ["folders", "kinds"]);
    put(join(cachedir, "grains", "a.p"), {});
    assert.deepEqual(layoutsIn(cachedir), ["kinds"]);
    put(join(cachedir, "minions", "a", "mine.p"), {});
    put(join(jobDirectory(cachedir, hashType, oldJid), "a", "return.p"), {});
    assert.equal(findSaltFiles(cachedir).length, 3);
    assert.deepEqual(layoutsIn(cachedir), ["folders", "kinds"]);
  });

  it("does not take for Salt's what a master of ours leaves: loads without returns", async () => {
    const cachedir = temporary();
    await openLocalCache({ cachedir, hashType }).putLoad(loadOf(oldJid));
    assert.deepEqual(findSaltFiles(cachedir), []);
  });
});
