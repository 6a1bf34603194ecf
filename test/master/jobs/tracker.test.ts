import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { unaskedRoundsMax } from "../../../src/limits.ts";
import type { FollowOptions } from "../../../src/master/jobs/followed.ts";
import type { SilentReason } from "../../../src/master/jobs/record.ts";
import { JobTracker } from "../../../src/master/jobs/tracker.ts";
import { TextList } from "../../../src/wire/text-list.ts";
import { tick } from "./tick.ts";

type Question = { readonly atMs: number; readonly jid: string; readonly ids: readonly string[] };

/** Time is node's mock clock, so that a 25 s job takes no time. */
function openTracker(isConnected: (id: string) => boolean = () => true, now = () => Date.now()) {
  const questions: Question[] = [];
  const faults: Error[] = [];
  let failing = 0;
  let held: Promise<void> | undefined;
  /** What happens while the publish is under way. */
  let onAsked = (_jid: string): void => undefined;
  const tracker = new JobTracker({
    findJob: async (_, ids, onAsk) => {
      await held;
      const jid = `find-${questions.length + 1}`;
      onAsk(jid);
      if (failing > 0) {
        failing -= 1;
        throw new Error("no space left");
      }
      questions.push({ atMs: Date.now(), jid, ids });
      onAsked(jid);
    },
    readFindJob: (id, body) => ({ id, runsStill: body[0] === 1, isFault: body[0] === 2 }),
    isConnected,
    onFault: (error) => {
      assert.equal(error.message, "no space left");
      faults.push(error);
    },
    now,
    steadyMs: () => Date.now(),
  });
  let done: { atMs: number; returned: readonly string[]; silent: Record<string, SilentReason> } | undefined;
  const follow = (minions: string[], more: Partial<FollowOptions> = {}) =>
    tracker.follow({
      jid: "job",
      minions: TextList.of(minions),
      timeoutMs: 5_000,
      gatherTimeoutMs: 10_000,
      onDone: (returned, silent) => {
        done = { atMs: Date.now(), returned, silent: Object.fromEntries(silent) };
      },
      ...more,
    });
  const fail = (count: number) => {
    failing = count;
  };
  /** Holds find_job publishes back until the result is called. */
  const hold = () => {
    let release = () => {};
    held = new Promise((resolve) => {
      release = resolve;
    });
    return () => release();
  };
  const whenAsked = (react: (jid: string) => void) => {
    onAsked = react;
  };
  return { tracker, questions, follow, done: () => done, faults, fail, hold, whenAsked };
}

const idle = () => Uint8Array.of(0);
const running = () => Uint8Array.of(1);
const faulty = () => Uint8Array.of(2);

describe("JobTracker", () => {
  beforeEach(() => mock.timers.enable({ apis: ["setTimeout", "Date"], now: 0 }));
  afterEach(() => mock.timers.reset());

  it("ends without waiting for minions that were away at its beginning, where that is asked for", async () => {
    const { tracker, follow, done, questions } = openTracker((id) => id !== "away");
    follow(["a", "away"], { leavesAbsent: true });
    assert.equal(done(), undefined);
    tracker.noteReturn("job", "a", idle);
    assert.deepEqual(done(), { atMs: 0, returned: ["a"], silent: { away: "Not connected" } });
    follow(["away"], { jid: "other", leavesAbsent: true });
    assert.deepEqual(done(), { atMs: 0, returned: [], silent: { away: "Not connected" } });
    assert.equal(questions.length, 0);
    tracker.close();
  });

  it("ends a job at once when every expected minion has returned, without a question", async () => {
    const { tracker, questions, follow, done } = openTracker();
    follow(["a", "b"]);
    await tick(700);
    tracker.noteReturn("job", "a", idle);
    tracker.noteReturn("job", "b", idle);
    assert.deepEqual(done(), { atMs: 700, returned: ["a", "b"], silent: {} });
    assert.equal(questions.length, 0);
  });

  it("goes on when a listener throws at the end of a job, be it in a timer or at once", async () => {
    const { tracker, follow, faults } = openTracker();
    const onDone = () => {
      throw new Error("no space left");
    };
    follow([], { onDone });
    follow(["a"], { jid: "other", onDone });
    await tick(5_000);
    await tick(10_000);
    assert.deepEqual([faults.length, tracker.followedCount], [2, 0]);
  });

  it("asks the silent ones at timeout and gives up when the round has ended: 15 s by default", async () => {
    const { tracker, questions, follow, done } = openTracker();
    follow(["a", "b"]);
    tracker.noteReturn("job", "a", idle);
    await tick(5_000);
    assert.deepEqual(questions, [{ atMs: 5_000, jid: "find-1", ids: ["b"] }]);
    await tick(9_999);
    assert.equal(done(), undefined);
    await tick(1);
    assert.deepEqual(done(), { atMs: 15_000, returned: ["a"], silent: { b: "No response" } });
  });

  it("takes silence for no answer while find_job cannot be published, and gives up after five such rounds", async () => {
    const { tracker, questions, follow, done, faults, fail } = openTracker();
    follow(["a", "b"]);
    fail(2);
    await tick(5_000);
    await tick(10_000);
    assert.deepEqual([faults.length, questions.length, done()], [2, 0, undefined]);
    const isAsked = () => [...(tracker.record("job")?.records() ?? [])].map((minion) => minion.isAsked);
    assert.deepEqual(isAsked(), [false, false]);
    await tick(10_000);
    assert.deepEqual(isAsked(), [true, true]);
    assert.deepEqual(
      questions.map(({ ids }) => ids),
      [["a", "b"]],
    );
    tracker.noteReturn("job", "a", idle);
    await tick(10_000);
    assert.deepEqual(done(), { atMs: 35_000, returned: ["a"], silent: { b: "No response" } });
    follow(["a"]);
    fail(100);
    await tick(5_000);
    for (let round = 0; round < unaskedRoundsMax + 1; round += 1) await tick(10_000);
    assert.deepEqual(done(), { atMs: 100_000, returned: [], silent: { a: "No response" } });
  });

  it("counts no minion as silent while the question is still on its way, nor asks about a job that could not be sent", async () => {
    const { tracker, questions, follow, done, hold } = openTracker();
    follow(["a"]);
    const release = hold();
    await tick(5_000);
    await tick(10_000);
    await tick(10_000);
    assert.deepEqual([questions.length, done()], [0, undefined]);
    release();
    await tick(0);
    assert.equal(questions.length, 1);
    await tick(10_000);
    assert.deepEqual(done(), { atMs: 35_000, returned: [], silent: { a: "No response" } });
    follow(["a"]);
    tracker.letGo("job");
    await tick(60_000);
    assert.equal(questions.length, 1);
  });

  it("keeps its times when the clock is set back by a day in the middle", async () => {
    let setBackMs = 0;
    const { questions, follow, done } = openTracker(undefined, () => Date.now() - setBackMs);
    follow(["a"]);
    setBackMs = 86_400_000;
    await tick(5_000);
    assert.equal(questions.length, 1);
    await tick(10_000);
    assert.deepEqual(done(), { atMs: 15_000, returned: [], silent: { a: "No response" } });
  });

  it("says Not connected of a minion that presence does not know", async () => {
    const { follow, done } = openTracker((id) => id !== "gone");
    follow(["gone", "mute"]);
    await tick(5_000);
    await tick(10_000);
    assert.deepEqual(done()?.silent, { gone: "Not connected", mute: "No response" });
  });

  it("makes one more full round after one in which a minion was running, even if that minion has returned: 25 s", async () => {
    const { tracker, questions, follow, done } = openTracker();
    follow(["slow", "dead"]);
    await tick(5_000);
    tracker.noteReturn("find-1", "slow", running);
    await tick(3_000);
    tracker.noteReturn("job", "slow", idle);
    await tick(7_000);
    assert.deepEqual(
      questions.map((question) => [question.atMs, question.ids]),
      [
        [5_000, ["slow", "dead"]],
        [15_000, ["dead"]],
      ],
    );
    await tick(10_000);
    assert.deepEqual(done(), { atMs: 25_000, returned: ["slow"], silent: { dead: "No response" } });
  });

  it("extends only the minion that runs, as long as it runs", async () => {
    const { tracker, questions, follow, done } = openTracker();
    follow(["slow"]);
    for (let round = 1; round <= 5; round += 1) {
      await tick(round === 1 ? 5_000 : 10_000);
      tracker.noteReturn(`find-${round}`, "slow", running);
    }
    tracker.noteReturn("job", "slow", idle);
    assert.equal(questions.length, 5);
    assert.deepEqual(done()?.returned, ["slow"]);
  });

  it("hears an answer that comes before the publish of its question has ended, as from another member of a cluster", async () => {
    const { tracker, follow, done, whenAsked } = openTracker();
    whenAsked((question) => tracker.noteReturn(question, "a", running));
    follow(["a"]);
    await tick(16_000);
    assert.equal(done(), undefined, "it runs");
    const answers: unknown[] = [];
    await tracker.askRunning("job", ["a"], 5_000, (answer) => answers.push(answer));
    assert.deepEqual(answers, [{ id: "a", runsStill: true, isFault: false }]);
    tracker.close();
  });

  it("does not count an empty find_job answer as running", async () => {
    const { tracker, follow, done } = openTracker();
    follow(["lost"]);
    await tick(5_000);
    tracker.noteReturn("find-1", "lost", idle);
    await tick(10_000);
    assert.deepEqual(done()?.silent, { lost: "No response" });
  });

  it("does not wait any more for a minion whose find_job failed", async () => {
    const { tracker, follow, done } = openTracker();
    follow(["broken"]);
    await tick(5_000);
    tracker.noteReturn("find-1", "broken", faulty);
    assert.deepEqual(done(), { atMs: 5_000, returned: [], silent: {} });
  });

  it("hands the body to a listener once per minion, and counts a late unexpected one as returned", () => {
    const { tracker, follow, done } = openTracker();
    const heard: string[] = [];
    follow(["a"], { onReturn: (id, body) => heard.push(`${id}:${body()[0]}`) });
    tracker.noteReturn("job", "extra", running);
    tracker.noteReturn("job", "extra", running);
    tracker.noteReturn("job", "a", idle);
    assert.deepEqual(heard, ["extra:1", "a:0"]);
    assert.deepEqual([...(done()?.returned ?? [])].sort(), ["a", "extra"]);
  });

  it("is over at once when no minion is expected", () => {
    const { follow, done } = openTracker();
    follow([]);
    assert.deepEqual(done()?.returned, []);
  });

  it("lets a job go when its id is followed again, so that its end does not end the new one", async () => {
    const { tracker, follow } = openTracker();
    const ended: string[] = [];
    follow(["a"], { timeoutMs: 1_000, onDone: () => ended.push("first") });
    follow(["a"], { timeoutMs: 60_000, onDone: () => ended.push("second") });
    assert.deepEqual(ended, ["first"]);
    await tick(30_000);
    assert.equal(tracker.followedCount, 1);
    tracker.noteReturn("job", "a", idle);
    assert.deepEqual(ended, ["first", "second"]);
  });

  it("waits for a long time in steps that a timer of Node can take", (context) => {
    const { tracker, follow } = openTracker();
    const timers = context.mock.method(globalThis, "setTimeout");
    follow(["a"], { timeoutMs: 30 * 86_400_000 });
    tracker.close();
    assert.equal(timers.mock.calls[0]?.arguments[1], 2 ** 31 - 1);
  });
});
