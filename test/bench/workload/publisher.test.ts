/** Work at planned times: bounded, counted, and ended by an abort. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LocalClient } from "../../../bench/local-client.ts";
import { publishPlanned, runPlanned } from "../../../bench/workload/publisher.ts";
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

describe("publishPlanned", () => {
  const jobs = ["1", "2", "3"].map((jid) => ({ jid, atMs: 0, target: { expression: "*", kind: "glob" } as const }));
  type Told = readonly [job: number, isPublished: boolean];

  async function publish(answer: (jid: string) => Promise<unknown>, signal = neverAborted) {
    const told: Told[] = [];
    let closed = 0;
    const client = {
      publish: (...args: readonly unknown[]) => answer(String(args[4])),
      close: () => {
        closed += 1;
      },
    } as unknown as LocalClient;
    const onPublished = (job: number, lateMs: number | undefined) => told.push([job, lateMs !== undefined]);
    const options = { connect: () => client, startedMs: performance.now(), signal, onPublished };
    const ended = await publishPlanned(jobs, "test.ping", options).catch((error: Error) => error);
    assert.equal(closed, jobs.length);
    return { ended, told: told.sort(([a], [b]) => a - b) };
  }

  it("tells of each job once, and of refused ones that they failed", async () => {
    const { ended, told } = await publish(async (jid) => {
      if (jid === "2") throw new SaltworksError("REQUEST_REFUSED", "no");
    });
    assert.deepEqual(told, [
      [0, true],
      [1, false],
      [2, true],
    ]);
    assert.ok(!(ended instanceof Error));
    assert.deepEqual([ended.completed, ended.failed], [2, 1]);
  });

  it("tells of all that were not published after an abort, and after a defect", async () => {
    const abort = new AbortController();
    const lost = (): Promise<never> =>
      new Promise((_, reject) => {
        abort.signal.addEventListener("abort", () => reject(new DOMException("over", "AbortError")));
      });
    const aborted = publish((jid) => {
      if (jid === "3") setImmediate(() => abort.abort());
      return lost();
    }, abort.signal);
    const all = [
      [0, false],
      [1, false],
      [2, false],
    ];
    assert.deepEqual((await aborted).told, all);
    const broken = await publish(async () => {
      throw new TypeError("a defect");
    });
    assert.deepEqual(broken.told, all);
    assert.match(String(broken.ended), /a defect/);
  });
});
