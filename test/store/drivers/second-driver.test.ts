/** A second driver needs only the driver's contract: it passes the job cache's suite, and Salt's own files are kept current from it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openMinionData } from "../../../src/store/minions/data.ts";
import { fillMirrorQueue } from "../../../src/store/salt/fill-mirror-queue.ts";
import { openLocalCache } from "../../../src/store/salt/local-cache.ts";
import { withLocalCache } from "../../../src/store/salt/merged-reader.ts";
import { SaltMirror } from "../../../src/store/salt/mirror.ts";
import { MirrorQueue } from "../../../src/store/salt/mirror-queue.ts";
import { jobCacheContract } from "../../contract/job-cache.ts";
import { loadOf, returnOf } from "../../contract/job-samples.ts";
import { returnsIn } from "../../contract/returns-in.ts";
import { temporaryDirectories } from "../temporary.ts";
import { memoryDriver } from "./memory-driver.ts";

const jid = "20260102030405000001";
const goneJid = "20200102030405000001";

jobCacheContract(
  "in memory",
  async () => {
    const driver = memoryDriver();
    const open = () => driver.open({ cachedir: "", hash_type: "sha256" }, {});
    return { cache: open(), reopen: async () => open(), remove: async () => undefined };
  },
  { keepsWholeBody: true, keepsMissing: true },
);

describe("a driver other than LMDB", () => {
  const temporary = temporaryDirectories();

  function open() {
    const config = { cachedir: temporary(), hash_type: "sha256" } as const;
    const layout = { cachedir: config.cachedir, hashType: config.hash_type };
    const driver = memoryDriver();
    const queue = new MirrorQueue(join(config.cachedir, "feed.mdb"));
    const minions = openMinionData({ path: join(config.cachedir, "minions.lmdb"), onFault: assert.ifError });
    const jobs = driver.open(config, { onStored: (keys) => queue.addReturns(keys) });
    const returns = driver.openKeyedReturns(config, assert.ifError);
    const mirror = new SaltMirror({ ...layout, jobs, returns, minions, queue, layouts: [], storesEndTime: false });
    const close = async () => {
      await minions.close();
      await queue.close();
    };
    return { place: driver.place(config), layout, queue, minions, jobs, returns, mirror, close };
  }

  it("feeds Salt's own files with its returns, and counts returns that were trimmed meanwhile", async () => {
    const { layout, jobs, mirror, close } = open();
    await jobs.keepJobs([loadOf(jid, ["a", "b"]), loadOf(goneJid)]);
    await jobs.keepReturns([returnOf(jid, "a"), returnOf(goneJid, "a"), returnOf(jid, "b")]);
    await jobs.trim({ olderThanJid: jid, stepsMax: 10 });
    const { returns, gone, failed } = await mirror.step();
    assert.deepEqual({ returns, gone, failed }, { returns: 2, gone: 1, failed: 0 });
    const files = openLocalCache(layout);
    assert.deepEqual((await files.job(jid))?.minions, ["a", "b"]);
    assert.equal((await returnsIn(files, jid)).length, 2);
    await close();
  });

  it("fills a new queue with all that it has stored", async () => {
    const { layout, queue, minions, jobs, returns, close } = open();
    await jobs.keepReturns([returnOf(jid, "a"), returnOf(jid, "b")]);
    const fresh = new MirrorQueue(join(layout.cachedir, "fresh.mdb"));
    assert.equal(await fillMirrorQueue({ queue: fresh, returns, minions }), 2);
    const keysIn = (each: MirrorQueue) => each.returns(10).map(({ returnKey }) => returnKey);
    assert.deepEqual(keysIn(fresh), keysIn(queue));
    await fresh.close();
    await close();
  });

  it("is read as one with Salt's own files", async () => {
    const { place, layout, jobs, close } = open();
    await jobs.keepJobs([loadOf(jid, ["a", "b"])]);
    await jobs.keepReturns([returnOf(jid, "a")]);
    await openLocalCache(layout).keepReturns([returnOf(jid, "b")]);
    const reader = withLocalCache(jobs, { ...layout, place });
    assert.deepEqual(
      (await returnsIn(reader, jid)).map(({ minionId }) => minionId),
      ["a", "b"],
    );
    await close();
  });
});
