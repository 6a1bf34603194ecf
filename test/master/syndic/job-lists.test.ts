import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { jobMinionsBelowMax } from "../../../src/limits.ts";
import type { FollowOptions } from "../../../src/master/jobs/followed.ts";
import { JobTracker } from "../../../src/master/jobs/tracker.ts";
import { TextList } from "../../../src/wire/text-list.ts";
import { tick } from "../jobs/tick.ts";

const empty = () => Uint8Array.of(0);

/** A tracker of a master whose syndic is `low`. Time is node's mock clock. */
function trackerAbove() {
  const asked: (readonly string[])[] = [];
  const tracker = new JobTracker({
    findJob: async (_, ids, onAsk) => onAsk(`find-${asked.push(ids)}`),
    readFindJob: (id) => ({ id, runsStill: false, isFault: false }),
    isConnected: () => true,
    below: { waitMs: 5_000, ids: () => new Set(["low"]) },
    onFault: (error) => assert.fail(error),
    now: () => Date.now(),
    steadyMs: () => Date.now(),
  });
  const done: { atMs: number; returned: readonly string[]; silent: readonly string[] }[] = [];
  const follow = (minions: readonly string[], more: Partial<FollowOptions> = {}) =>
    tracker.follow({
      jid: "job",
      minions: TextList.of(minions),
      timeoutMs: 5_000,
      gatherTimeoutMs: 10_000,
      onDone: (returned, silent) => done.push({ atMs: Date.now(), returned, silent: [...silent.keys()] }),
      ...more,
    });
  const back = (id: string) => tracker.noteReturn("job", id, empty);
  return { tracker, follow, back, done, asked };
}

describe("a job on a master with lower masters", () => {
  beforeEach(() => mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] }));
  afterEach(() => mock.timers.reset());

  it("is over once syndic_wait has passed and all have returned, without the syndic", async () => {
    const { tracker, follow, back, done, asked } = trackerAbove();
    follow(["low", "direct"]);
    back("direct");
    assert.deepEqual(tracker.expectMore("job", ["leaf1", "direct"]), ["leaf1"]);
    assert.deepEqual(tracker.expectMore("job", ["leaf1"]), []);
    back("leaf1");
    await tick(4_999);
    assert.deepEqual(done, []);
    await tick(1);
    assert.deepEqual(done, [{ atMs: 5_000, returned: ["direct", "leaf1"], silent: [] }]);
    assert.deepEqual(asked, []);
  });

  it("takes a list of a whole fleet at once, and no more than the bound", { timeout: 20_000 }, () => {
    const { tracker, follow } = trackerAbove();
    follow(["low"]);
    const ids = Array.from({ length: jobMinionsBelowMax + 1_000 }, (_, index) => `leaf${index}`);
    assert.equal(tracker.expectMore("job", ids).length, jobMinionsBelowMax - 1);
    assert.deepEqual(tracker.expectMore("job", ids), []);
  });

  it("asks silent minions below, waits longer for their answer, and names them alone", async () => {
    const { tracker, follow, done, asked } = trackerAbove();
    follow(["low"]);
    await tick(300);
    tracker.expectMore("job", ["leaf1"]);
    await tick(4_700);
    assert.deepEqual([asked, done], [[["leaf1"]], []]);
    await tick(15_000);
    assert.deepEqual(done, [{ atMs: 20_000, returned: [], silent: ["leaf1"] }]);
  });

  it("waits for the timeout if no minion becomes known", async () => {
    const { follow, done, asked } = trackerAbove();
    follow(["low"], { timeoutMs: 8_000 });
    await tick(5_000);
    assert.deepEqual(done, []);
    await tick(3_000);
    assert.deepEqual([done, asked], [[{ atMs: 8_000, returned: [], silent: [] }], []]);
  });

  it("waits for a syndic that its master names as a minion, too", async () => {
    const { tracker, follow, back, done } = trackerAbove();
    follow(["low"]);
    tracker.expectMore("job", ["low"]);
    await tick(5_000);
    assert.deepEqual(done, []);
    back("low");
    assert.deepEqual(done, [{ atMs: 5_000, returned: ["low"], silent: [] }]);
  });

  it("does not wait for lists if its minions are known, as those of a batch's step are", () => {
    const { follow, back, done } = trackerAbove();
    follow(["leaf1"], { isWhole: true });
    back("leaf1");
    assert.deepEqual(done, [{ atMs: 0, returned: ["leaf1"], silent: [] }]);
  });

  it("takes lists up to a bound, and none for a job that it does not know", () => {
    const { tracker, follow } = trackerAbove();
    follow([]);
    const ids = Array.from({ length: jobMinionsBelowMax + 1 }, (_, index) => `leaf${index}`);
    assert.equal(tracker.expectMore("job", ids).length, jobMinionsBelowMax);
    assert.deepEqual([tracker.counters.listsCut, tracker.largestGrown], [1, jobMinionsBelowMax]);
    assert.deepEqual(tracker.expectMore("other", ["leaf1"]), []);
    tracker.close();
  });
});
