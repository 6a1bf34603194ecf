/** What counts as lost, on histories that are made up. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countLosses, publishedAgainMs } from "../../../../bench/peers/cluster/count.ts";
import { History, type Knowledge, type Published } from "../../../../bench/peers/cluster/history.ts";

const forever = Number.POSITIVE_INFINITY;

function job(jid: string, more: Partial<Published> = {}): Published {
  return { jid, member: 0, targets: ["a", "b"], sentMs: 10_000, endedMs: 10_100, outcome: "taken", ...more };
}

/** Both minions are subscribed all the time, one at each of two members. */
function calmHistory(...jobs: readonly Published[]): History {
  const history = new History();
  history.published.push(...jobs);
  history.subscribed.push({ minion: "a", member: 0, fromMs: 0, toMs: forever });
  history.subscribed.push({ minion: "b", member: 1, fromMs: 0, toMs: forever });
  return history;
}

function answer(history: History, jid: string, minion: string, member: number): void {
  history.delivered.push({ jid, minion, member, kind: "first" });
  history.acknowledged.push({ jid, minion, member });
}

function knows(returns: Record<string, readonly string[]>, keys: readonly string[] = []): Knowledge {
  const sets = Object.entries(returns).map(([jid, minions]) => [jid, new Set(minions)] as const);
  return { returns: new Map(sets), acceptedKeys: new Set(keys) };
}

describe("countLosses", () => {
  it("finds nothing where every member has every return, and all minions had the job", () => {
    const history = calmHistory(job("1"));
    answer(history, "1", "a", 0);
    answer(history, "1", "b", 1);
    const losses = countLosses(history, [knows({ "1": ["a", "b"] }), knows({ "1": ["a", "b"] })]);
    assert.deepEqual(
      [losses.expected, losses.acknowledged, losses.lackedWhereAcknowledged, losses.lackedElsewhere, losses.neverGot],
      [2, 2, 0, 0, 0],
    );
    assert.deepEqual(losses.lackedBy, [0, 0]);
  });

  it("tells a return that the acknowledging member lacks from one that another lacks", () => {
    const history = calmHistory(job("1"));
    answer(history, "1", "a", 0);
    answer(history, "1", "b", 1);
    const losses = countLosses(history, [knows({ "1": ["a"] }), knows({ "1": [] })]);
    assert.equal(losses.lackedWhereAcknowledged, 1, "b's return, which member 1 acknowledged");
    assert.equal(losses.lackedElsewhere, 2, "a's at member 1, and b's at member 0");
    assert.deepEqual(losses.lackedBy, [1, 2]);
  });

  it("counts a return once, however many of the others lack it", () => {
    const history = calmHistory(job("1"));
    answer(history, "1", "a", 0);
    const losses = countLosses(history, [knows({ "1": ["a"] }), knows({}), knows({})]);
    assert.equal(losses.lackedElsewhere, 1);
  });

  it("expects nothing of jobs that were refused or had no answer, but their returns", () => {
    const history = calmHistory(job("1", { outcome: "refused" }), job("2", { outcome: "unanswered" }));
    answer(history, "2", "a", 0);
    const losses = countLosses(history, [knows({}), knows({})]);
    assert.deepEqual([losses.published, losses.refused, losses.unanswered], [0, 1, 1]);
    assert.deepEqual([losses.expected, losses.neverGot], [0, 0]);
    assert.equal(losses.lackedWhereAcknowledged, 1);
  });

  it("counts a job that a subscribed minion never got, and says if it came with an old serial", () => {
    const history = calmHistory(job("1"), job("2", { sentMs: 20_000, endedMs: 20_100 }));
    history.delivered.push({ jid: "2", minion: "b", member: 1, kind: "stale" });
    const losses = countLosses(history, [knows({}), knows({})]);
    assert.deepEqual([losses.neverGot, losses.neverGotForSerial, losses.missedWhileMoving], [4, 1, 0]);
  });

  it("does not blame a member for what a minion missed while it moved", () => {
    const history = calmHistory(job("1", { targets: ["a"] }));
    for (const span of history.subscribed) span.toMs = 10_500;
    history.subscribed.push({ minion: "a", member: 1, fromMs: 11_000, toMs: forever });
    const losses = countLosses(history, [knows({}), knows({})]);
    assert.deepEqual([losses.neverGot, losses.missedWhileMoving], [0, 1]);
  });

  it("counts a job once that a minion was given again, and not one that came with an old serial", () => {
    const history = calmHistory(job("1"));
    for (const kind of ["first", "again", "again", "stale"] as const)
      history.delivered.push({ jid: "1", minion: "a", member: 0, kind });
    history.delivered.push({ jid: "1", minion: "b", member: 1, kind: "first" });
    history.delivered.push({ jid: "1", minion: "b", member: 1, kind: "stale" });
    assert.equal(countLosses(history, [knows({}), knows({})]).gotTwice, 1);
  });

  it("counts an accepted key that another member does not know", () => {
    const history = calmHistory();
    history.acceptedKeys.push({ id: "k1", member: 0 }, { id: "k2", member: 1 });
    const losses = countLosses(history, [knows({}, ["k1", "k2"]), knows({}, ["k2"])]);
    assert.deepEqual([losses.keysAccepted, losses.keysUnknownElsewhere], [2, 1]);
    assert.deepEqual(losses.keysUnknownBy, [0, 1]);
  });
});

describe("publishedAgainMs", () => {
  it("counts from the end of the fault for its member, from the beginning for the others, and only jobs sent since", () => {
    const published = [
      job("1", { member: 0, sentMs: 900, endedMs: 1_100 }),
      job("2", { member: 0, sentMs: 1_200, endedMs: 1_300 }),
      job("3", { member: 1, sentMs: 1_500, endedMs: 1_600 }),
      job("4", { member: 1, sentMs: 2_100, endedMs: 2_250 }),
      job("5", { member: 2, sentMs: 3_000, endedMs: 3_100, outcome: "refused" }),
    ];
    const fault = { beganMs: 1_000, endedMs: 2_000, victim: 1, members: 3 };
    assert.deepEqual(publishedAgainMs({ published }, fault), [300, 250, undefined]);
  });
});
