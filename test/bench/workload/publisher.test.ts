/** Work at planned times: bounded, counted, and ended by an abort. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runPlanned } from "../../../bench/workload/publisher.ts";
import { SaltworksError } from "../../../src/errors.ts";

const neverAborted = new AbortController().signal;

function run(count: number, work: (index: number) => Promise<void>, o: { atOnce?: number; signal?: AbortSignal } = {}) {
  const { atOnce = 2, signal = neverAborted } = o;
  return runPlanned(new Float64Array(count), { startedMs: performance.now(), atOnce, signal, work });
}

describe("runPlanned", () => {
  it("has a bounded number under way at once, and does all", async () => {
    let [underWay, most] = [0, 0];
    const done: number[] = [];
    const { histogram, failed } = await run(7, async (index) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await Promise.resolve();
      underWay -= 1;
      done.push(index);
    });
    assert.deepEqual([most, done.length, histogram.count, failed], [2, 7, 7, 0]);
  });

  it("counts refused ones, and fails with an error of the bench itself", async () => {
    const refuse = async () => {
      throw new SaltworksError("REQUEST_REFUSED", "no");
    };
    assert.equal((await run(3, refuse)).failed, 3);
    await assert.rejects(
      run(3, async () => {
        throw new TypeError("a defect");
      }),
      /a defect/,
    );
  });

  it("ends at once when it is aborted, whatever is under way", async () => {
    const abort = new AbortController();
    const ended = run(
      2,
      (index) =>
        new Promise((_, reject) => {
          abort.signal.addEventListener("abort", () => reject(new DOMException("over", "AbortError")));
          if (index === 1) abort.abort();
        }),
      { signal: abort.signal },
    );
    assert.equal((await ended).histogram.count, 0);
  });
});
