/** Salt's own files kept current from our store: written in order, also after a restart, and delayed only by a full disk. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { openLmdbJobCache } from "../../../src/store/drivers/lmdb/job-cache.ts";
import { LmdbKeyedReturns } from "../../../src/store/drivers/lmdb/keyed-returns.ts";
import type { JobCache } from "../../../src/store/jobs/job-cache.ts";
import { type MinionData, openMinionData } from "../../../src/store/minions/data.ts";
import { fillMirrorQueue } from "../../../src/store/salt/fill-mirror-queue.ts";
import { jobDirectory } from "../../../src/store/salt/job-files.ts";
import { openLocalCache } from "../../../src/store/salt/local-cache.ts";
import { minionLayouts } from "../../../src/store/salt/minion-files.ts";
import { SaltMirror } from "../../../src/store/salt/mirror.ts";
import { MirrorQueue } from "../../../src/store/salt/mirror-queue.ts";
import { mirroredMinions } from "../../../src/store/salt/mirrored-minions.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { loadOf, returnOf } from "../../contract/job-samples.ts";
import { returnsIn } from "../../contract/returns-in.ts";
import { temporaryDirectories } from "../temporary.ts";

const hashType = "sha256";
const jid = "20260102030405000001";
const packed = (map: Record<string, string>) => encode(map, "bin");

/** Changes a byte wherever the text stands in the file. */
function damage(file: string, text: string): void {
  const bytes = readFileSync(file);
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at)) bytes[at] = 0x47;
  writeFileSync(file, bytes);
}

describe("the mirror of Salt's own files", () => {
  const temporary = temporaryDirectories();
  let cachedir: string;
  let jobsPath: string;
  let queue: MirrorQueue;
  let jobs: JobCache;
  let minions: MinionData;
  const faults: string[] = [];

  beforeEach(() => {
    faults.length = 0;
    cachedir = temporary();
    jobsPath = join(cachedir, "jobs.lmdb");
    open(true);
  });
  afterEach(() => close());

  function open(isMirrored: boolean): void {
    queue = new MirrorQueue(join(cachedir, "salt-files.lmdb", "feed.mdb"));
    const store = { path: jobsPath, shards: 2, durability: "commit", storeDelayMs: 1 } as const;
    jobs = openLmdbJobCache(isMirrored ? { ...store, onStored: (keys) => queue.addReturns(keys) } : store);
    const onFault = ({ message }: Error) => faults.push(message);
    const data = openMinionData({ path: join(cachedir, "minions.lmdb"), onFault });
    minions = isMirrored ? mirroredMinions(data, queue, assert.ifError) : data;
  }
  async function close(): Promise<void> {
    await jobs.close();
    await minions.close();
    await queue.close();
  }
  const keyed = () => new LmdbKeyedReturns(jobsPath, ({ message }) => faults.push(message));
  const openMirror = (storesEndTime = false) =>
    new SaltMirror({
      ...{ cachedir, hashType, jobs, returns: keyed(), minions, queue, layouts: minionLayouts, storesEndTime },
    });
  /** Puts through the writer's log into the store. */
  const flush = () => jobs.trim({ olderThanJid: "20000101000000000000", stepsMax: 1 });
  const files = () => openLocalCache({ cachedir, hashType });
  /** A step ends after its time, on a busy machine before everything is written. */
  async function writeAll(mirror: SaltMirror): Promise<{ returns: number; minions: number; failed: number }> {
    const done = { returns: 0, minions: 0, failed: 0 };
    for (;;) {
      const step = await mirror.step();
      done.returns += step.returns;
      done.minions += step.minions;
      done.failed += step.failed;
      if (step.returnsWaiting + step.minionsWaiting === 0 || step.isHeldUp) return done;
    }
  }

  it("writes returns with their load once they are stored, and each once", async () => {
    await jobs.keepJobs([loadOf(jid, ["a", "b"])]);
    await jobs.keepReturns([returnOf(jid, "a"), returnOf(jid, "b", "two")]);
    await flush();
    const mirror = openMirror(true);
    assert.deepEqual(await writeAll(mirror), { returns: 2, minions: 0, failed: 0 });
    assert.deepEqual((await files().job(jid))?.minions, ["a", "b"]);
    assert.deepEqual(
      (await returnsIn(files(), jid)).map(({ minionId }) => minionId),
      ["a", "b"],
    );
    assert.match((await files().endTime(jid)) ?? "", /^\d{4}, [A-Z][a-z]{2} \d{2} \d{2}:/);
    assert.equal((await mirror.step()).returns, 0);
  });

  it("tells of a damaged return, and writes the others", async () => {
    await jobs.keepJobs([loadOf(jid, ["a", "b"])]);
    await jobs.keepReturns([returnOf(jid, "a", "FLIPPED"), returnOf(jid, "b")]);
    await close();
    for (const name of readdirSync(jobsPath).filter((each) => each.endsWith(".mdb")))
      damage(join(jobsPath, name), "FLIPPED");
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
    assert.deepEqual(await writeAll(openMirror()), { returns: 1, minions: 1, failed: 0 });
    assert.equal((await returnsIn(files(), jid)).length, 1);
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

  it("leaves files of a minion whose data in our store is damaged as they are, and tells so", async () => {
    const paths = ["minions/a/data.p", "minions/a/mine.p", "grains/a.p", "pillar/a.p", "mine/a.p"];
    const contents = () => paths.map((path) => readFileSync(join(cachedir, path), "latin1"));
    await minions.putGrains("a", packed({ os: "FLIPPEDGRAINS" }), packed({ secret: "s" }));
    await minions.putMine("a", packed({ ip: "FLIPPEDMINE" }));
    await writeAll(openMirror());
    const before = contents();
    for (const [text, what] of [
      ["FLIPPEDGRAINS", "the grains and pillar of a"],
      ["FLIPPEDMINE", "the mine of a"],
    ] as const) {
      await close();
      const file = join(cachedir, "minions.lmdb", "data.mdb");
      damage(file, text);
      faults.length = 0;
      open(true);
      queue.addMinion("a");
      assert.deepEqual(await writeAll(openMirror()), { returns: 0, minions: 0, failed: 1 });
      assert.deepEqual(contents(), before);
      const told = faults.filter((fault) => fault.startsWith(`${what} in `));
      assert.equal(told.length, 1, faults.join());
      assert.match(told.join(), /is not what was stored, and counts as absent until the minion sends it again/);
    }
    assert.deepEqual([minions.get("a"), minions.getMine("a")], [undefined, undefined]);
    await minions.putMine("a", packed({ ip: "::1" }));
    await writeAll(openMirror());
    assert.deepEqual(decode(readFileSync(join(cachedir, "mine", "a.p"))), new Map([["ip", "::1"]]));
    assert.deepEqual(contents()[0], before[0], "the grains are damaged still");
    await minions.drop("a");
    await writeAll(openMirror());
    assert.ok(
      paths.every((path) => !existsSync(join(cachedir, path))),
      "a key that goes takes its files along",
    );
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
    const what = { queue, returns: keyed(), minions };
    assert.equal(await fillMirrorQueue(what), 6);
    assert.equal(await fillMirrorQueue(what), 0);
    assert.deepEqual(await writeAll(openMirror()), { returns: 4, minions: 2, failed: 0 });
    assert.ok(existsSync(join(jobDirectory(cachedir, hashType, jid), "c", "return.p")));
    assert.ok(existsSync(join(jobDirectory(cachedir, hashType, "no-time"), "a", "return.p")));
    assert.ok(existsSync(join(cachedir, "minions", "b", "mine.p")), "a mine of a minion without grains");
  });

  it("writes no file outside of its folder for an id that is not a file name", async () => {
    mkdirSync(join(cachedir, "minions"));
    await minions.putMine("../evil", packed({ x: "1" }));
    await writeAll(openMirror());
    assert.equal(existsSync(join(cachedir, "evil")), false);
  });
});
