/** A worker's job cache: the driver, with Salt's own files behind it. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { JobCacheConfig } from "../../../src/store/drivers/contract/driver.ts";
import { openJobCacheReader, openJobCacheWriter } from "../../../src/store/drivers/open-job-cache.ts";
import { jobDirectory } from "../../../src/store/salt/job-files.ts";
import { MirrorQueue, mirrorQueueFile } from "../../../src/store/salt/mirror-queue.ts";
import { loadOf, returnOf } from "../../contract/job-samples.ts";
import { returnsIn } from "../../contract/returns-in.ts";
import { temporaryDirectories } from "../temporary.ts";

const jid = "20260102030405000001";
const startedJid = "20260102030405000002";

describe("the job cache of a worker", () => {
  const temporary = temporaryDirectories();
  const configOf = (changes: Partial<JobCacheConfig> = {}): JobCacheConfig => ({
    cachedir: temporary(),
    store_shards: 1,
    hash_type: "sha256",
    job_cache_durability: "commit",
    ...changes,
  });
  const hasSaltLoad = ({ cachedir, hash_type }: JobCacheConfig, job: string) =>
    existsSync(join(jobDirectory(cachedir, hash_type, job), ".load.p"));
  const onFault = (error: Error) => assert.fail(error);

  it("writes published jobs into Salt's files where its command line reads them, and no job that a minion started", async () => {
    for (const isRead of [false, true]) {
      const config = configOf({ local_cache_loads: isRead });
      const cache = openJobCacheWriter(config, { queue: undefined, onFault });
      await cache.keepJobs([loadOf(jid)]);
      await cache.keepNewJob(startedJid, () => loadOf(startedJid));
      assert.equal(hasSaltLoad(config, jid), isRead);
      assert.equal(hasSaltLoad(config, startedJid), false);
      await cache.close();
    }
  });

  it("queues returns for Salt's files once they can be read, and closes the queue", async () => {
    const config = configOf({ local_cache_loads: false });
    const file = mirrorQueueFile(config.cachedir);
    const cache = openJobCacheWriter(config, { queue: new MirrorQueue(file), onFault });
    await cache.keepJobs([loadOf(jid)]);
    assert.equal(hasSaltLoad(config, jid), true);
    assert.deepEqual(await cache.keepReturns([returnOf(jid, "a"), returnOf(jid, "a")]), ["stored", "duplicate"]);
    assert.deepEqual(await cache.whichReturned(jid, ["a", "b"]), ["a"]);
    await cache.close();
    const queue = new MirrorQueue(file);
    assert.equal(queue.returnCount, 1);
    await queue.close();
  });

  it("removes old jobs from the store and from Salt's files", async () => {
    const config = configOf({ local_cache_loads: true });
    const cache = openJobCacheWriter(config, { queue: undefined, onFault });
    await cache.keepJobs([loadOf(jid)]);
    await cache.keepReturns([returnOf(jid, "a")]);
    const olderThanJid = "20990101000000000000";
    let hasMore = true;
    while (hasMore) hasMore = (await cache.trim({ olderThanJid, stepsMax: 1 })).hasMore;
    await cache.close();
    assert.equal(hasSaltLoad(config, jid), false);
    const reader = openJobCacheReader(config, { isReadOnly: true });
    assert.equal(await reader.job(jid), undefined);
    assert.deepEqual(await returnsIn(reader, jid), []);
    await reader.close();
  });

  it("knows the jobs whose returns are not to be kept", async () => {
    const cache = openJobCacheWriter(configOf({ local_cache_loads: true }), { queue: undefined, onFault });
    await cache.keepJobs([loadOf(jid, ["a"], { isNoCache: true }), loadOf(startedJid)]);
    assert.deepEqual(await cache.unkeptJobs(), [jid]);
    await cache.close();
  });
});
