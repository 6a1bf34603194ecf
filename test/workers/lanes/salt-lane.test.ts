/** The lane of Salt's own files in its thread: its answer reports damage in our store. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pino } from "pino";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { openSaltLane } from "../../../src/master/threads.ts";
import { openLmdbJobCache } from "../../../src/store/drivers/lmdb/job-cache.ts";
import { openLocalCache } from "../../../src/store/salt/local-cache.ts";
import type { SaltAnswer, TakenJobs } from "../../../src/workers/messages/lanes.ts";
import { loadOf } from "../../contract/job-samples.ts";
import { temporaryDirectories } from "../../store/temporary.ts";

const jid = "20260102030405000001";

describe("the lane of Salt's own files", { timeout: 60_000 }, () => {
  const temporary = temporaryDirectories();

  it("tells of a damaged record of ours that it meets", async (context) => {
    const root = temporary();
    const config = loadMasterConfig(root, { root_dir: root, cachedir: root, store_shards: 1 });
    const jobs = openLmdbJobCache({ path: join(root, "jobs.lmdb"), shards: 1, durability: "fsync" });
    await jobs.keepJobs([loadOf(jid, ["FLIPPED"])]);
    await jobs.close();
    const file = join(root, "jobs.lmdb", "0.mdb");
    const bytes = readFileSync(file);
    for (let at = bytes.indexOf("FLIPPED"); at !== -1; at = bytes.indexOf("FLIPPED", at)) bytes[at] = 0x47;
    writeFileSync(file, bytes);
    await openLocalCache({ cachedir: root, hashType: config.hash_type }).keepJobs([loadOf(jid, ["a"])]);
    const lane = openSaltLane(config, { queueFile: join(root, "feed.mdb"), layouts: [] }, pino({ level: "silent" }));
    context.after(() => lane.close());
    const task = { kind: "takeJobs", sinceMs: 0, olderThanJid: "0" } as const;
    const { taken, storeFaults } = await lane.run<SaltAnswer<TakenJobs>>(task);
    assert.equal(taken, 0);
    assert.match(storeFaults.join(), /^the record of job 20260102030405000001 in .*jobs\.lmdb is not what was stored/);
  });
});
