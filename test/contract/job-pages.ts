/** The job cache's contract for pages of returns. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { returnPageBytesMax } from "../../src/limits.ts";
import type { JobCache, ReturnPage } from "../../src/store/jobs/job-cache.ts";
import { loadOf, returnOf } from "./job-samples.ts";
import { returnsIn } from "./returns-in.ts";

const jid = "20260102030405000001";

/** `reopen`: opens the same data again after `cache` was closed. */
type Paged = { readonly cache: () => JobCache; readonly reopen: () => Promise<JobCache> };

/** Larger than any page here. */
const anyBytes = Number.MAX_SAFE_INTEGER;

export function pagesContract({ cache, reopen }: Paged): void {
  it("gives returns page by page, each minion's once and in order", async () => {
    await cache().keepJobs([loadOf(jid), loadOf(`${jid}_77`)]);
    const ids = ["a", "b", "\u{1f600}", "\uff21", "c10", "c9", "c"];
    await cache().keepReturns([...ids.map((id) => returnOf(jid, id)), returnOf(`${jid}_77`, "other")]);
    const sorted = ["a", "b", "c", "c10", "c9", "\uff21", "\u{1f600}"];
    for (const limit of [1, 2, 3, 7, 8]) {
      const pages: string[][] = [];
      for (let after: string | undefined; ; ) {
        const page = await cache().returns(jid, { after, limit, bytesMax: anyBytes });
        pages.push(page.returns.map(({ minionId }) => minionId));
        if (!page.hasMore) break;
        after = page.returns.at(-1)?.minionId;
      }
      assert.deepEqual(pages.flat(), sorted, `pages of ${limit}`);
      assert.equal(pages.length, Math.ceil(sorted.length / limit));
      assert.ok(pages.slice(0, -1).every((ids) => ids.length === limit));
    }
    const idsOn = async (page: Omit<ReturnPage, "bytesMax">) =>
      (await cache().returns(jid, { ...page, bytesMax: anyBytes })).returns.map(({ minionId }) => minionId);
    assert.deepEqual(await idsOn({ after: "bb", limit: 2 }), ["c", "c10"]);
    const of = ["c9", "nobody", "a", "\u{1f600}", "c9"];
    assert.deepEqual(await idsOn({ limit: 9, of }), ["a", "c9", "\u{1f600}"], "of some minions");
    assert.deepEqual(await idsOn({ limit: 1, of, after: "a" }), ["c9"]);
    assert.deepEqual(await idsOn({ limit: 1, of: [] }), []);
  });

  boundedPages({ cache, reopen });
}

function boundedPages({ cache, reopen }: Paged): void {
  it("ends a page with the return that reaches its bytes, wherever the returns stand", async () => {
    await cache().keepJobs([loadOf(jid)]);
    const idOf = (index: number) => `m${String(index).padStart(2, "0")}`;
    const large = 7;
    const records = Array.from({ length: 20 }, (_, index) =>
      returnOf(jid, idOf(index), "x".repeat(index === large ? 9_000 : 1_000)),
    );
    const isEarlier = (_: unknown, index: number) => index % 3 === 0;
    await cache().keepReturns(records.filter(isEarlier));
    await cache().close();
    const again = await reopen();
    await again.keepReturns(records.filter((record, index) => !isEarlier(record, index)));
    for (const [bytesMax, countsOfPages] of [
      [1, Array.from({ length: 20 }, () => 1)],
      [3_000, [3, 3, 2, 3, 3, 3, 3]],
      [anyBytes, [20]],
    ] as const) {
      const pages: string[][] = [];
      for (let after: string | undefined; ; ) {
        const { returns, hasMore } = await again.returns(jid, { after, limit: 100, bytesMax });
        pages.push(returns.map(({ minionId }) => minionId));
        if (!hasMore) break;
        after = returns.at(-1)?.minionId;
      }
      assert.deepEqual(
        pages.map(({ length }) => length),
        countsOfPages,
        `${bytesMax} bytes`,
      );
      assert.deepEqual(
        pages.flat(),
        records.map(({ minionId }) => minionId),
      );
    }
  });

  it("gives all returns in pages of bounded bytes", async () => {
    await cache().keepJobs([loadOf(jid)]);
    const value = "x".repeat(returnPageBytesMax / 4);
    const ids = ["a", "b", "c", "d", "e", "f"];
    for (const id of ids) await cache().keepReturns([returnOf(jid, id, value)]);
    const pages: number[] = [];
    const watched = {
      returns: async (asked: string, page: ReturnPage) => {
        const found = await cache().returns(asked, page);
        pages.push(found.returns.length);
        return found;
      },
    };
    assert.deepEqual(
      (await returnsIn(watched, jid)).map(({ minionId }) => minionId),
      ids,
    );
    assert.deepEqual(pages, [4, 2]);
  });
}
