/** The master's side of the database of jobs: it waits longer after each failure, tells the operator once, and says how far the database is behind. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Logger } from "pino";
import { jobCopyWaitMs } from "../../../src/limits.ts";
import type { JobExpiryOptions } from "../../../src/master/upkeep/job-expiry.ts";
import { JobShipping } from "../../../src/master/upkeep/job-shipping.ts";
import type { DatabaseTask, ShipAnswer } from "../../../src/workers/messages/lanes.ts";
import type { LanePool } from "../../../src/workers/threads/lane-pool.ts";

const nothing: ShipAnswer = {
  ...{ jobs: 0, returns: 0, present: 0, refused: 0, gone: 0, batches: 0 },
  ...{ hasMore: false, fault: undefined, refusals: [] },
  feed: { waiting: 0, oldestMs: undefined, isMissing: false },
  complaints: [],
};

/** Answers with `steps`, the last of them again and again. `reached(n)`: when the n-th step was asked for. `looked()`: after the next count of the feed. */
function laneOf(steps: readonly (ShipAnswer | Promise<ShipAnswer>)[]) {
  const askedMs: number[] = [];
  const looks: (() => void)[] = [];
  const kinds: string[] = [];
  let told: (() => void) | undefined;
  const run = async ({ kind }: DatabaseTask) => {
    if (kind === "look") {
      looks.forEach((look) => void setImmediate(look));
      return { waiting: 100 + askedMs.length, oldestMs: 1_000, isMissing: false };
    }
    kinds.push(kind);
    if (kind === "expire") return { jobs: 1, returns: 2, events: 0, isDone: kinds.length > 4, fault: undefined };
    askedMs.push(performance.now());
    told?.();
    return steps[Math.min(askedMs.length, steps.length) - 1];
  };
  const reached = async (count: number) => {
    while (askedMs.length < count) await new Promise<void>((resolve) => (told = resolve));
    // The answer is taken in after the question.
    await new Promise((resolve) => setImmediate(resolve));
  };
  const looked = () => new Promise<void>((resolve) => void looks.push(resolve));
  return { lane: { run } as unknown as LanePool, reached, looked, kinds, askedMs };
}

const shippings: JobShipping[] = [];

function opened(steps: readonly (ShipAnswer | Promise<ShipAnswer>)[], expiry?: JobExpiryOptions) {
  const lines: string[] = [];
  const note = (level: string) => (_: object, text: string) => void lines.push(`${level} ${text}`);
  const logger = { error: note("error"), warn: note("warn"), info: note("info") } as unknown as Logger;
  const { lane, reached, looked, kinds, askedMs } = laneOf(steps);
  const shipping = new JobShipping({ lane, name: "mysql", place: "mysql://db:3306/salt", logger, expiry });
  shippings.push(shipping);
  return { shipping, lines, reached, looked, kinds, askedMs };
}

const failing = { ...nothing, fault: "refused", feed: { waiting: 5, oldestMs: 1_000, isMissing: false } };

describe("the copy of jobs into a database", () => {
  // One that a failed test leaves open would try again for ever, and keep the file's run from its end.
  after(() => Promise.all(shippings.map((shipping) => shipping.close())));

  it("tries again at once when it is asked to, and then waits as after the first failure", async ({ mock }) => {
    mock.timers.enable({ apis: ["Date"], now: 1_000 });
    const { shipping, reached } = opened([failing]);
    for (const failures of [1, 2, 3, 4]) {
      await reached(failures);
      shipping.retry();
    }
    await reached(5);
    const { nextTrySeconds = 0 } = shipping.status(Date.now());
    assert.ok(nextTrySeconds <= 0.25, `${nextTrySeconds}`);
    await shipping.close();
  });

  it("is awaited until it has what was stored before, without the wait for more rows", async () => {
    const more = { ...nothing, hasMore: true };
    let end: (answer: ShipAnswer) => void = () => undefined;
    const slow = new Promise<ShipAnswer>((resolve) => {
      end = resolve;
    });
    const { shipping, reached, askedMs } = opened([slow, more, nothing]);
    await reached(1);
    // The first step began before, so that it may not have what was stored since.
    const copied = shipping.untilCopied().then(() => askedMs.length);
    end(nothing);
    assert.equal(await copied, 3);
    assert.equal(shipping.counters.late, 0);
  });

  it("is not awaited for long, and not at all while the database takes nothing", async ({ mock }) => {
    mock.timers.enable({ apis: ["setTimeout"] });
    const never = new Promise<ShipAnswer>(() => undefined);
    const hanging = opened([never]).shipping;
    const waited = hanging.untilCopied();
    mock.timers.tick(jobCopyWaitMs);
    await waited;
    assert.equal(hanging.counters.late, 1);
    shippings.splice(shippings.indexOf(hanging), 1);
    const { shipping, reached } = opened([failing]);
    await reached(1);
    await shipping.untilCopied();
    assert.equal(shipping.counters.late, 0);
  });

  it("waits longer after each failure, and logs the failure once", async ({ mock }) => {
    mock.timers.enable({ apis: ["Date"], now: 1_000 });
    const { shipping, lines, reached } = opened([failing]);
    for (const [index, longestSeconds] of [0.25, 0.5, 1, 2].entries()) {
      await reached(index + 1);
      const { nextTrySeconds = 0 } = shipping.status(Date.now());
      assert.ok(
        nextTrySeconds >= longestSeconds / 2 && nextTrySeconds <= longestSeconds,
        `${index}: ${nextTrySeconds}`,
      );
    }
    assert.equal(lines.filter((line) => line.startsWith("error")).length, 1);
    const status = shipping.status(11_000);
    assert.deepEqual([status.state, status.waiting, status.lagSeconds, status.fault], ["failing", 5, 10, "refused"]);
    await shipping.close();
    assert.match(lines.at(-1) ?? "", /^warn .*at the next start$/);
  });

  it("counts what waits between two tries", async () => {
    // The second try begins right after the count, so its answer waits until the count was seen.
    let answerSecond: (step: ShipAnswer) => void = () => undefined;
    const second = new Promise<ShipAnswer>((resolve) => (answerSecond = resolve));
    const { shipping, reached, looked } = opened([failing, second]);
    await reached(1);
    assert.equal(shipping.waiting, 5);
    await looked();
    assert.equal(shipping.waiting, 101);
    answerSecond(failing);
    await shipping.close();
  });

  it("says when the database takes rows again, and what it counted", async () => {
    const copied = { ...nothing, jobs: 1, returns: 4, batches: 1 };
    const { shipping, lines, reached } = opened([failing, copied, nothing]);
    assert.deepEqual([shipping.status(0).state, shipping.isReachable], ["starting", 0]);
    await reached(3);
    assert.ok(lines.some((line) => line === "info the database of jobs takes rows again"));
    const { state, counters, lastFault } = shipping.status(Date.now());
    assert.deepEqual(
      [state, counters.jobs, counters.returns, counters.failures, lastFault],
      ["current", 1, 4, 1, "refused"],
    );
    assert.equal(shipping.isReachable, 1);
    await shipping.close();
  });

  it("lets rows gather after a step that left less than a full batch, and goes on at once after others", async () => {
    const waiting = { waiting: 3, oldestMs: Date.now(), isMissing: false };
    const { shipping, reached, askedMs } = opened([
      { ...nothing, batches: 9, hasMore: true, feed: waiting },
      { ...nothing, batches: 1, feed: waiting },
      nothing,
    ]);
    await reached(3);
    const [first = 0, second = 0, third = 0] = askedMs;
    assert.ok(third - second > 200, `asked after ${third - second} ms`);
    assert.ok(second - first < third - second, `asked after ${second - first} and ${third - second} ms`);
    await shipping.close();
  });

  it("names each refused row, and that a full feed left something out", async () => {
    const full = { ...nothing, refused: 1, refusals: ['return of minion "a": too long'] };
    const { shipping, lines, reached } = opened([{ ...full, feed: { ...nothing.feed, isMissing: true } }, nothing]);
    await reached(2);
    assert.ok(
      lines.some((line) => line.includes('refused a row, which only the local store has: return of minion "a"')),
    );
    assert.ok(lines.some((line) => line.includes("too much waits for the database of jobs")));
    await shipping.close();
  });

  it("tells no failure of a step that ends because the master stops", async () => {
    let end: (() => void) | undefined;
    const ending = new Promise<ShipAnswer>((_, reject) => (end = () => reject(new Error("Terminating worker thread"))));
    const { shipping, lines, reached } = opened([ending]);
    await reached(1);
    const closed = shipping.close();
    end?.();
    await closed;
    assert.deepEqual(
      lines.filter((line) => line.startsWith("error")),
      [],
    );
  });

  it("removes old rows between its steps while nothing has waited for long", async ({ mock }) => {
    mock.timers.enable({ apis: ["Date"], now: 60_000 });
    const behind = { ...nothing, batches: 1, feed: { waiting: 5, oldestMs: 1_000, isMissing: false } };
    const busy = { ...nothing, batches: 1, feed: { waiting: 5, oldestMs: 59_900, isMissing: false } };
    const { shipping, reached, kinds } = opened([failing, behind, busy, nothing], {
      ...{ keepSeconds: 60, archives: false, everyMs: 1_000_000 },
    });
    await reached(5);
    assert.deepEqual(kinds.slice(0, 6), ["ship", "ship", "ship", "expire", "ship", "expire"]);
    assert.equal(kinds.filter((kind) => kind === "expire").length, 2);
    const { expiry } = shipping.status(Date.now());
    assert.deepEqual([expiry?.jobs, expiry?.returns, expiry?.isUnderWay], [2, 4, false]);
    await shipping.close();
  });

  it("does nothing without a database", async () => {
    const shipping = new JobShipping({ lane: undefined, name: undefined, place: "", logger: {} as Logger });
    assert.equal(shipping.status(0).state, "none");
    await shipping.close();
  });
});
