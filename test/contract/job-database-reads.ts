/** The contract of databases of jobs: what is read back, page by page. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { exactly } from "../../src/store/jobs/facts.ts";
import type { DatabaseContext } from "./job-database-context.ts";
import { jid, published, returned } from "./job-rows.ts";

const page = { limit: 1_000, bytesMax: 100_000_000 };

export function databaseReadsContract({ write, database }: DatabaseContext): void {
  const idsOn = async (asked: Parameters<ReturnType<typeof database>["reader"]["returns"]>[1], jobId = jid) => {
    const { returns, hasMore } = await database().reader.returns(jobId, asked);
    return { ids: returns.map(({ minionId }) => minionId), hasMore };
  };

  it("gives a job's returns page by page, by id in the order of bytes", async () => {
    const ids = ["B", "a", "a1", "\u{1f9c2}", "\uffee", "c10", "c9"];
    await write([...ids.map((id) => returned(id, id)), returned("other", 1, {}, `${jid}_7`)]);
    const sorted = ["B", "a", "a1", "c10", "c9", "\uffee", "\u{1f9c2}"];
    for (const limit of [1, 2, 3, 7, 8]) {
      const pages: string[][] = [];
      for (let after: string | undefined; ; ) {
        const { ids: onPage, hasMore } = await idsOn({ ...page, limit, after });
        pages.push(onPage);
        if (!hasMore) break;
        after = onPage.at(-1);
      }
      assert.deepEqual(pages.flat(), sorted, `pages of ${limit}`);
      assert.equal(pages.length, Math.ceil(sorted.length / limit));
    }
    assert.deepEqual(await idsOn({ ...page, of: ["a1", "none", "B"] }), { ids: ["B", "a1"], hasMore: false });
    assert.deepEqual(await idsOn({ ...page, of: [] }), { ids: [], hasMore: false });
    assert.deepEqual(await idsOn(page, `${jid}_7`), { ids: ["other"], hasMore: false });
  });

  it("ends a page with the return that reaches its bytes", async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `m${String(index).padStart(2, "0")}`);
    await write(ids.map((id) => returned(id, "x".repeat(10_000))));
    const first = await idsOn({ limit: 100, bytesMax: 35_000 });
    assert.deepEqual(first, { ids: ids.slice(0, 4), hasMore: true });
    const next = await idsOn({ limit: 100, bytesMax: 1, after: first.ids.at(-1) });
    assert.deepEqual(next, { ids: ids.slice(4, 5), hasMore: true });
  });

  it("finds jobs by function, range and page, newest first", async () => {
    const jids = Array.from({ length: 1_200 }, (_, index) => `2026112016${String(index).padStart(10, "0")}`);
    await write(jids.map((each, index) => published(each, index % 100 === 0 ? "state.apply" : "test.ping")));
    await write([published("my-own-id"), published("Another"), published("20261120160000000100_77")]);
    const find = (query: Readonly<Record<string, unknown>>) => database().reader.find({ limit: 10_000, ...query });
    const all = await find({});
    assert.equal(all.length, 1_203);
    assert.deepEqual(all.slice(-2).sort(), ["Another", "my-own-id"]);
    assert.deepEqual(all.slice(0, 2), [jids[1_199], jids[1_198]]);
    assert.ok(all.indexOf("20261120160000000100_77") < all.indexOf(jids[100] ?? ""));
    assert.equal((await find({ functions: [exactly("state.apply")] })).length, 12);
    assert.deepEqual(await find({ limit: 2, before: jids[10] }), [jids[9], jids[8]]);
    assert.deepEqual(await find({ from: jids[5], until: jids[6] }), [jids[6], jids[5]]);
    assert.deepEqual(await find({ functions: [exactly("nothing.there")] }), []);
  });

  it("answers that there is no job and no return", async () => {
    const { reader } = database();
    assert.equal(await reader.job("20990101000000000000"), undefined);
    assert.equal(await reader.request("20990101000000000000"), undefined);
    assert.equal(await reader.returnOf("20990101000000000000", "a"), undefined);
    assert.equal(await reader.endTime("20990101000000000000"), undefined);
    assert.deepEqual(await reader.find({ limit: 10 }), []);
  });
}
