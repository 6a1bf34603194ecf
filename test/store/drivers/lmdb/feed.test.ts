/** The feed of the LMDB job cache: what is stored is fed once, and stays in the store until it has left the feed. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { lmdbDriver } from "../../../../src/store/drivers/lmdb/driver.ts";
import { appendToFeed, returnKind } from "../../../../src/store/drivers/lmdb/feed-table.ts";
import { openShards } from "../../../../src/store/drivers/lmdb/records.ts";
import type { JobCache } from "../../../../src/store/jobs/job-cache.ts";
import type { FeedEntry, JobFeed } from "../../../../src/store/jobs/job-feed.ts";
import { closeEnvironment, transact } from "../../../../src/store/lmdb/env.ts";
import { loadOf, returnOf } from "../../../contract/job-samples.ts";
import { temporaryDirectories } from "../../temporary.ts";

const jid = "20260102030405000001";
const oldJid = "20200102030405000001";
const quiet = { onStored: () => undefined, logger: { error: () => undefined, info: () => undefined } };

describe("the feed of the LMDB job cache", () => {
  const temporary = temporaryDirectories();
  let config: Parameters<typeof lmdbDriver.open>[0];
  let jobs: JobCache;
  let feed: JobFeed;

  beforeEach(() => {
    config = { cachedir: temporary(), hash_type: "sha256", master_job_cache: "mysql", job_cache_durability: "fsync" };
    jobs = lmdbDriver.open(config, { storeDelayMs: 1 });
    feed = lmdbDriver.openFeed(config);
  });
  afterEach(async () => {
    await jobs.close();
    await feed.close();
  });

  async function stored(): Promise<void> {
    await jobs.close();
    jobs = lmdbDriver.open(config, { storeDelayMs: 1 });
  }

  const read = (part = 0) => feed.read(part, { limit: 100, bytesMax: 1_000_000 });
  const names = (entries: readonly FeedEntry[]) =>
    entries.map((entry) => (entry.kind === "return" ? `${entry.jid} ${entry.minionId}` : `${entry.kind} ${entry.jid}`));

  it("has jobs and returns once each, in the order in which they were stored", async () => {
    await jobs.keepJobs([loadOf(jid)]);
    await jobs.keepReturns([returnOf(jid, "b"), returnOf(jid, "a"), returnOf(jid, "b")]);
    await jobs.keepReturns([returnOf(jid, "a", "second")]);
    await stored();
    assert.deepEqual(names(read()), [`job ${jid}`, `${jid} b`, `${jid} a`]);
    assert.equal(feed.state().waiting, 3);
  });

  it("keeps what was not removed, also for the next master", async () => {
    await jobs.keepJobs([loadOf(jid)]);
    await jobs.keepReturns([returnOf(jid, "a")]);
    await stored();
    feed.remove(
      0,
      read()
        .slice(0, 1)
        .map(({ place }) => place),
    );
    await feed.close();
    feed = lmdbDriver.openFeed(config);
    assert.deepEqual(names(read()), [`${jid} a`]);
  });

  it("keeps each entry's place while others that were stored with it leave", async () => {
    await jobs.keepReturns(["a", "b", "c", "d"].map((id) => returnOf(jid, id)));
    await stored();
    const [a, b, c] = read().map(({ place }) => place);
    assert.ok(a !== undefined && b !== undefined && c !== undefined);
    feed.remove(0, [a, c]);
    assert.deepEqual(names(feed.read(0, { after: b, limit: 9, bytesMax: 9_999 })), [`${jid} d`]);
    assert.deepEqual(names(read()), [`${jid} b`, `${jid} d`]);
    // A master that was killed before it noted what it had removed removes it again.
    feed.remove(0, [a, b]);
    assert.deepEqual([names(read()), feed.state().waiting], [[`${jid} d`], 1]);
    feed.remove(
      0,
      read().map(({ place }) => place),
    );
    assert.deepEqual([names(read()), feed.state()], [[], { waiting: 0, oldestMs: undefined, isMissing: false }]);
  });

  it("gives many entries in order, whatever the sizes of pages and reads are", async () => {
    const ids = Array.from({ length: 300 }, (_, index) => `minion-${String(index).padStart(100, "0")}`);
    await jobs.keepReturns(ids.map((id) => returnOf(jid, id)));
    await stored();
    const found: string[] = [];
    for (let after: FeedEntry["place"] | undefined; ; ) {
      const some = feed.read(0, { after, limit: 7, bytesMax: 1_000_000 });
      if (some.length === 0) break;
      found.push(...some.map((entry) => (entry.kind === "return" ? entry.minionId : entry.kind)));
      after = some.at(-1)?.place;
    }
    assert.deepEqual(found, ids);
    assert.equal(feed.state().waiting, ids.length);
  });

  it("has what an earlier release left, before what came later", async () => {
    await jobs.keepReturns([returnOf(jid, "a"), returnOf(jid, "b")]);
    await stored();
    const [shard] = openShards(join(config.cachedir, "jobs.lmdb"), 1, true);
    assert.ok(shard !== undefined);
    // A record for each entry: the time, the kind and the key.
    transact(shard.environment, { records: 9, bytes: 0 }, () => {
      shard.feed.clearSync();
      for (const [index, id] of ["a", "b"].entries())
        shard.feed.putSync(
          Buffer.from([0, 0, 0, 0, 0, 0, 0, index + 1]),
          Buffer.concat([Buffer.alloc(8, 1), Buffer.of(returnKind), Buffer.from(`t${jid}\0${id}`)]),
        );
    });
    await closeEnvironment(shard.environment);
    assert.equal(feed.state().waiting, 2);
    await jobs.keepReturns([returnOf(jid, "c")]);
    await stored();
    assert.deepEqual([names(read()), feed.state().waiting], [[`${jid} a`, `${jid} b`, `${jid} c`], 3]);
    feed.remove(
      0,
      read()
        .slice(0, 2)
        .map(({ place }) => place),
    );
    assert.deepEqual([names(read()), feed.state().waiting], [[`${jid} c`], 1]);
  });

  it("gives at least one entry, however large it is", async () => {
    await jobs.keepReturns([returnOf(jid, "a", "x".repeat(10_000)), returnOf(jid, "b")]);
    await stored();
    assert.equal(feed.read(0, { limit: 10, bytesMax: 100 }).length, 1);
  });

  it("keeps a job in the store until it has left the feed", async () => {
    await jobs.keepJobs([loadOf(oldJid)]);
    await jobs.keepReturns([returnOf(oldJid, "a")]);
    await stored();
    const trim = () => jobs.trim({ olderThanJid: jid, stepsMax: 100 });
    assert.equal((await trim()).removed, 0);
    assert.deepEqual(
      read().map(({ kind }) => kind),
      ["job", "return"],
    );
    feed.remove(
      0,
      read().map(({ place }) => place),
    );
    assert.equal((await trim()).removed, 2);
    assert.equal(await jobs.job(oldJid), undefined);
  });

  it("feeds only jobs when minions write their returns themselves", async () => {
    const external = { ...config, cachedir: temporary(), master_job_cache: "lmdb", ext_job_cache: "mysql" } as const;
    const other = lmdbDriver.open(external, {});
    await other.keepJobs([loadOf(jid)]);
    await other.keepReturns([returnOf(jid, "a")]);
    await other.close();
    const fed = lmdbDriver.openFeed(external);
    assert.deepEqual(names(fed.read(0, { limit: 9, bytesMax: 9_999 })), [`job ${jid}`]);
    await fed.close();
  });

  it("moves with the jobs into another number of files", async () => {
    await jobs.keepJobs([loadOf(jid)]);
    await jobs.keepReturns(["a", "b", "c", "d"].map((id) => returnOf(jid, id)));
    await jobs.close();
    await feed.close();
    const three = { ...config, store_shards: 3 };
    await lmdbDriver.prepare(three, quiet);
    jobs = lmdbDriver.open(three, {});
    feed = lmdbDriver.openFeed(three);
    assert.equal(feed.partCount, 3);
    const all = [0, 1, 2].flatMap((part) => names(read(part)));
    assert.deepEqual(all.sort(), [`${jid} a`, `${jid} b`, `${jid} c`, `${jid} d`, `job ${jid}`]);
  });

  it("adds what a full feed left out, once the oldest entries have left", async () => {
    await jobs.keepJobs([loadOf(jid)]);
    await jobs.keepReturns(["a", "b"].map((id) => returnOf(jid, id)));
    await stored();
    const [shard] = openShards(join(config.cachedir, "jobs.lmdb"), 1, true);
    assert.ok(shard !== undefined);
    transact(shard.environment, { records: 9, bytes: 0 }, () =>
      appendToFeed(shard.feed, returnKind, [Buffer.from(`t${jid}\0c`)], 3),
    );
    await closeEnvironment(shard.environment);
    assert.deepEqual([feed.state().isMissing, feed.state().waiting], [true, 3]);
    assert.equal((await jobs.trim({ olderThanJid: "20270101000000000000", stepsMax: 100 })).removed, 0);
    feed.remove(
      0,
      read().map(({ place }) => place),
    );
    while (feed.refill(0, 2));
    assert.deepEqual(names(read()), [`job ${jid}`, `${jid} a`, `${jid} b`]);
    assert.equal(feed.state().isMissing, false);
  });

  it("is forgotten once no database is configured", async () => {
    await jobs.keepJobs([loadOf(jid)]);
    await jobs.close();
    await feed.close();
    await lmdbDriver.prepare({ ...config, master_job_cache: "lmdb" }, quiet);
    jobs = lmdbDriver.open(config, {});
    feed = lmdbDriver.openFeed(config);
    assert.equal(feed.state().waiting, 0);
    assert.equal(lmdbDriver.place(config), join(config.cachedir, "jobs.lmdb"));
  });
});
