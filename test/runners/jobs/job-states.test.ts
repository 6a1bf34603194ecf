import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openLmdbJobCache } from "../../../src/store/drivers/lmdb/job-cache.ts";
import type { JobCache } from "../../../src/store/jobs/job-cache.ts";
import type { JobState } from "../../../src/store/jobs/job-states.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Value } from "../../../src/wire/values.ts";
import { callRunner, runnerContext } from "../calling.ts";
import { masterAccess } from "../master-access.ts";

type Page = {
  readonly jobs: Record<string, { readonly State: string; readonly User: string }>;
  readonly next: unknown;
};

const jidOf = (index: number) => `2026010100000000${String(1_000 + index)}`;

describe("pages of jobs", () => {
  const folder = mkdtempSync(join(tmpdir(), "saltworks-pages-"));
  let jobs: JobCache;
  const open = new Map<string, JobState>([
    [jidOf(3), "running"],
    [jidOf(7), "waiting"],
    [jidOf(11), "running"],
    [jidOf(12), "paused"],
    ["20250101000000000000", "running"],
  ]);
  const page = async (asked: Record<string, Value>): Promise<Page> => {
    const context = runnerContext({ jobs, master: masterAccess({ openJobs: async () => open }) });
    return (await callRunner(context, "jobs.list_jobs", [], { paged: true, ...asked })) as Page;
  };
  /** The indexes of all jobs, page by page. */
  const walk = async (asked: Record<string, Value>): Promise<number[][]> => {
    const pages: number[][] = [];
    for (let before: Value = ""; ; ) {
      const { jobs: found, next } = await page({ ...asked, before });
      pages.push(Object.keys(found).map((jid) => Number(jid.slice(16)) - 1_000));
      if (next === null) return pages;
      before = next as Value;
    }
  };

  before(async () => {
    jobs = openLmdbJobCache({ path: folder, shards: 1, durability: "commit" });
    const ids = Array.from({ length: 20 }, (_, index) => index);
    await jobs.keepJobs(
      ids.map((index) => {
        const load = { fun: index % 2 === 0 ? "test.ping" : "state.apply", tgt: "*", user: `user${index % 3}` };
        return { jid: jidOf(index), load: encode(load, "bin"), minions: ["a"] };
      }),
    );
  });
  after(async () => {
    await jobs.close();
    rmSync(folder, { recursive: true });
  });

  it("go from the newest job to the oldest, without a job twice or missing, and the last one says so", async () => {
    assert.deepEqual(await walk({ limit: 8 }), [
      [19, 18, 17, 16, 15, 14, 13, 12],
      [11, 10, 9, 8, 7, 6, 5, 4],
      [3, 2, 1, 0],
    ]);
    assert.deepEqual(
      (await walk({ limit: 10 })).map(({ length }) => length),
      [10, 10],
    );
    assert.equal((await walk({}))[0]?.length, 20);
    assert.deepEqual(await page({ search_function: "no.such" }), { jobs: {}, next: null });
  });

  it("show each job's state", async () => {
    const { jobs: found } = await page({});
    const states = [3, 7, 12, 13].map((index) => found[jidOf(index)]?.State);
    assert.deepEqual(states, ["running", "waiting", "paused", "over"]);
  });

  it("hold the jobs of one state only, with all other conditions", async () => {
    assert.deepEqual(await walk({ search_state: "running", limit: 1 }), [[11], [3]]);
    assert.deepEqual(await walk({ search_state: "running", search_user: "user2" }), [[11]]);
    assert.deepEqual(await walk({ search_state: "running", end_time: jidOf(5) }), [[3]]);
    assert.deepEqual(await walk({ search_state: "paused" }), [[12]]);
    const over = [19, 17, 15, 13, 9, 5, 1];
    assert.deepEqual(await walk({ search_state: "over", search_function: "state.*", limit: 4 }), [
      over.slice(0, 4),
      over.slice(4),
    ]);
  });

  it("have bounds, and refuse an unknown state", async () => {
    for (const limit of [0, 1_001]) await assert.rejects(page({ limit }), { code: "FUNCTION_ARGUMENTS" });
    await assert.rejects(page({ search_state: "gone" }), { code: "FUNCTION_ARGUMENTS", message: /running, paused/ });
  });
});
