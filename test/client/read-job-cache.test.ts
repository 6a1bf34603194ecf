import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { openJobCacheReadOnly } from "../../src/client/read-job-cache.ts";
import { openLmdbJobCache } from "../../src/store/drivers/lmdb/job-cache.ts";
import { encode } from "../../src/wire/msgpack.ts";

const jid = "20261121070000123456";

describe("openJobCacheReadOnly", () => {
  let cachedir: string;
  beforeEach(async () => {
    cachedir = await mkdtemp(join(tmpdir(), "saltworks-job-cache-"));
  });
  afterEach(() => rm(cachedir, { recursive: true }));

  it("reads what a master stored, while that one still has the store open", async () => {
    const master = openLmdbJobCache({ path: join(cachedir, "jobs.lmdb"), shards: 1, durability: "commit" });
    const body = encode({ return: true }, "bin");
    await master.keepJobs([{ jid, load: encode({ fun: "test.ping" }, "bin"), minions: ["a", "b"] }]);
    await master.keepReturns([{ jid, minionId: "a", body }]);
    const jobs = openJobCacheReadOnly({ cachedir, store_shards: 1, hash_type: "sha256" });
    assert.deepEqual(await jobs.list({ newestFirst: true, limit: 10 }), [jid]);
    assert.deepEqual((await jobs.job(jid))?.minions, ["a", "b"]);
    assert.deepEqual(Buffer.from((await jobs.returnOf(jid, "a")) ?? []), body);
    await jobs.close();
    await master.close();
  });

  it("is empty where no master ever ran", async () => {
    const jobs = openJobCacheReadOnly({ cachedir, store_shards: 1, hash_type: "sha256" });
    assert.deepEqual(await jobs.list({ newestFirst: true, limit: 10 }), []);
    await jobs.close();
  });
});
