/** Salt's own files kept current from our store: written in order, after a restart too, held up by a full disk and by nothing else. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { openLmdbJobCache } from "../../../src/store/drivers/lmdb/job-cache.ts";
import { allReturns, type JobStore } from "../../../src/store/jobs/job-cache.ts";
import { type MinionData, openMinionData } from "../../../src/store/minions/data.ts";
import { feedingMinions } from "../../../src/store/salt/fed-minions.ts";
import { SaltFeed } from "../../../src/store/salt/feed.ts";
import { fillFeed } from "../../../src/store/salt/fill-feed.ts";
import { jobDirectory } from "../../../src/store/salt/job-files.ts";
import { openLocalCache } from "../../../src/store/salt/local-cache.ts";
import { minionLayouts } from "../../../src/store/salt/minion-files.ts";
import { SaltMirror } from "../../../src/store/salt/mirror.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { loadOf, returnOf } from "../../contract/job-cache.ts";
import { temporaryDirectories } from "../temporary.ts";

const hashType = "sha256";
const jid = "20260102030405000001";
const packed = (map: Record<string, string>) => encode(map, "bin");

describe("the mirror of Salt's own files", () => {
  const temporary = temporaryDirectories();
  let cachedir: string;
  let jobsPath: string;
  let feed: SaltFeed;
  let jobs: JobStore;
  let minions: MinionData;
  const faults: string[] = [];

  beforeEach(() => {
    faults.length = 0;
    cachedir = temporary();
    jobsPath = join(cachedir, "jobs.lmdb");
    open(true);
  });
  afterEach(() => close());

  function open(isFed: boolean): void {
    feed = new SaltFeed(join(cachedir, "salt-files.lmdb", "feed.mdb"));
    const store = { path: jobsPath, shards: 2, durability: "commit", storeDelayMs: 1 } as const;
    jobs = openLmdbJobCache(isFed ? { ...store, onStored: (keys) => feed.addReturns(keys) } : store);
    const data = openMinionData({ path: join(cachedir, "minions.lmdb") });
    minions = isFed ? feedingMinions(data, feed, assert.ifError) : data;
  }
  async function close(): Promise<void> {
    await jobs.close();
    await minions.close();
    await feed.close();
  }
  const openMirror = (storesEndTime = false) =>
    new SaltMirror({
      ...{ cachedir, hashType, jobsPath, jobs, minions, feed, layouts: minionLayouts, storesEndTime },
      onFault: ({ message }) => faults.push(message),
    });
  /** Through the writer's log into the store. */
  const flush = () => jobs.trim({ olderThanJid: "20000101000000000000", stepsMax: 1 });
  const files = () => openLocalCache({ cachedir, hashType });
  /** A step ends after its time, on a busy machine before all is written. */
  async function writeAll(mirror: SaltMirror): Promise<{ returns: number; minions: number }> {
    const done = { returns: 0, minions: 0 };
    for (;;) {
      const step = await mirror.step();
      done.returns += step.returns;
      done.minions += step.minions;
      if (step.returnsWaiting + step.minionsWaiting === 0 || step.isHeldUp) return done;
    }
  }

  it("writes returns with their load once they are stored, and each once", async () => {
    await jobs.keepJobs([loadOf(jid, ["a", "b"])]);
    await jobs.keepReturns([returnOf(jid, "a"), returnOf(jid, "b", "two")]);
    await flush();
    const mirror = openMirror(true);
    const { returns, returnsWaiting, failed } = await mirror.step();
    assert.deepEqual({ returns, returnsWaiting, failed }, { returns: 2, returnsWaiting: 0, failed: 0 });
    assert.deepEqual(files().job(jid)?.minions, ["a", "b"]);
    assert.deepEqual(
      [...allReturns(files(), jid)].map(({ minionId }) => minionId),
      ["a", "b"],
    );
    assert.match(files().endTime(jid) ?? "", /^\d{4}, [A-Z][a-z]{2} \d{2} \d{2}:/);
    assert.equal((await mirror.step()).returns, 0);
  });

  it("tells of a damaged return, and writes the others", async () => {
    await jobs.keepJobs([loadOf(jid, ["a", "b"])]);
    await jobs.keepReturns([returnOf(jid, "a", "FLIPPED"), returnOf(jid, "b")]);
    await close();
    for (const name of readdirSync(jobsPath).filter((each) => each.endsWith(".mdb"))) {
      const file = join(jobsPath, name);
      const bytes = readFileSync(file);
      for (let at = bytes.indexOf("FLIPPED"); at !== -1; at = bytes.indexOf("FLIPPED", at)) bytes[at] = 0x47;
      writeFileSync(file, bytes);
    }
    open(true);
    const { failed, gone, returns } = await openMirror().step();
    assert.deepEqual({ failed, gone, returns }, { failed: 1, gone: 0, returns: 1 });
    assert.match(faults.join(), /^the return of a for job 20260102030405000001 in .*jobs\.lmdb is not what was stored/);
  });

  it("goes on after a restart with what was not written", async () => {
    await jobs.keepJobs([loadOf(jid)]);
    await jobs.keepReturns([returnOf(jid, "a")]);
    await minions.putMine("a", packed({ x: "1" }));
    await close();
    open(true);
    assert.deepEqual(await writeAll(openMirror()), { returns: 1, minions: 1 });
    assert.equal([...allReturns(files(), jid)].length, 1);
  });

  it("waits for a disk that takes nothing, and passes over a file that cannot be written", async () => {
    await jobs.keepReturns([returnOf(jid, "a")]);
    await flush();
    writeFileSync(join(cachedir, "jobs"), "in the way");
    const step = await openMirror().step();
    assert.deepEqual([step.failed, step.isHeldUp, step.returnsWaiting], [1, false, 0]);
    rmSync(join(cachedir, "jobs"));
    await jobs.keepReturns([returnOf(jid, "b")]);
    await flush();
    assert.equal((await openMirror().step()).returns, 1);
  });

  it("keeps minions' files in both layouts, readable for their owner alone, and removes those of a minion that is gone", async () => {
    await minions.putGrains("a", packed({ os: "Debian" }), packed({ secret: "s" }));
    await minions.putMine("a", packed({ ip: "::1" }));
    const mirror = openMirror();
    assert.equal((await mirror.step()).minions, 1);
    const data = join(cachedir, "minions", "a", "data.p");
    assert.deepEqual(
      decode(readFileSync(data)),
      new Map([
        ["grains", new Map([["os", "Debian"]])],
        ["pillar", new Map([["secret", "s"]])],
      ]),
    );
    assert.equal(statSync(data).mode & 0o777, 0o600);
    for (const [kind, name, value] of [
      ["grains", "os", "Debian"],
      ["pillar", "secret", "s"],
      ["mine", "ip", "::1"],
    ] as const)
      assert.deepEqual(decode(readFileSync(join(cachedir, kind, "a.p"))), new Map([[name, value]]));
    assert.deepEqual(decode(readFileSync(join(cachedir, "minions", "a", "mine.p"))), new Map([["ip", "::1"]]));
    await minions.drop("a");
    assert.equal((await mirror.step()).minions, 1);
    for (const path of ["minions/a", "grains/a.p", "pillar/a.p", "mine/a.p"])
      assert.equal(existsSync(join(cachedir, path)), false, path);
  });

  it("brings in once what was stored before it was turned on", async () => {
    await close();
    open(false);
    await jobs.keepJobs([loadOf(jid)]);
    await jobs.keepReturns(["a", "b", "c"].map((id) => returnOf(jid, id)));
    await jobs.keepReturns([returnOf("no-time", "a")]);
    await minions.putGrains("a", packed({}), packed({}));
    await minions.putMine("b", packed({ ip: "::1" }));
    await flush();
    const what = { feed, jobsPath, minions };
    assert.equal(await fillFeed(what), 6);
    assert.equal(await fillFeed(what), 0);
    assert.deepEqual(await writeAll(openMirror()), { returns: 4, minions: 2 });
    assert.ok(existsSync(join(jobDirectory(cachedir, hashType, jid), "c", "return.p")));
    assert.ok(existsSync(join(jobDirectory(cachedir, hashType, "no-time"), "a", "return.p")));
    assert.ok(existsSync(join(cachedir, "minions", "b", "mine.p")), "a mine of a minion without grains");
  });

  it("writes no file outside of its folder for an id that is no file name", async () => {
    mkdirSync(join(cachedir, "minions"));
    await minions.putMine("../evil", packed({ x: "1" }));
    await openMirror().step();
    assert.equal(existsSync(join(cachedir, "evil")), false);
  });
});
