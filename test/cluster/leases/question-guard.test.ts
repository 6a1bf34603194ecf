/** Which questions to the owner of a job are refused: by time, nonce and process. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { markFor, QuestionGuard } from "../../../src/cluster/leases/question-guard.ts";
import { ownerNoncesMax, ownerQuestionMs } from "../../../src/limits.ts";

const self = { member: "a", session: "a-1" };

describe("the guard of questions", () => {
  function guardAt(startMs: number) {
    const clock = { nowMs: startMs };
    return { clock, guard: new QuestionGuard(self, false, () => clock.nowMs) };
  }

  it("takes clocks that differ by some seconds, in both directions, and no more", () => {
    const { guard } = guardAt(1_000_000);
    for (const apartMs of [-ownerQuestionMs, ownerQuestionMs]) guard.demand(markFor(self, 1_000_000 + apartMs));
    for (const apartMs of [-ownerQuestionMs - 1, ownerQuestionMs + 1])
      assert.throws(() => guard.demand(markFor(self, 1_000_000 + apartMs)), /are 30 s apart, and 30 s are allowed/);
    assert.equal(guard.counters.late, 2);
  });

  it("refuses a repeat as long as its time is good", () => {
    const { clock, guard } = guardAt(1_000_000);
    const ahead = markFor(self, 1_000_000 + ownerQuestionMs);
    guard.demand(ahead);
    clock.nowMs += 2 * ownerQuestionMs;
    guard.demand(markFor(self, clock.nowMs));
    assert.throws(() => guard.demand(ahead), /asked before/);
    clock.nowMs += 1;
    assert.throws(() => guard.demand(ahead), /apart/);
  });

  it("refuses a repeat after its clock was set back", () => {
    const { clock, guard } = guardAt(1_000_000);
    const first = markFor(self, clock.nowMs);
    guard.demand(first);
    clock.nowMs += ownerQuestionMs + 1;
    guard.demand(markFor(self, clock.nowMs));
    clock.nowMs = 1_000_000;
    assert.throws(() => guard.demand(first), /clock was set back/);
  });

  it("does not look at clocks where the servers take members only, and refuses a repeat there, too", () => {
    const clock = { nowMs: 1_000_000 };
    const guard = new QuestionGuard(self, true, () => clock.nowMs);
    const first = markFor(self, clock.nowMs);
    guard.demand(first);
    for (const stepMs of [10, -20, 10]) {
      clock.nowMs += stepMs * ownerQuestionMs;
      guard.demand(markFor(self, clock.nowMs));
      guard.demand(markFor(self, 0));
    }
    assert.throws(() => guard.demand(first), /asked before/);
    for (let count = 0; count < ownerNoncesMax; count += 1) guard.demand(markFor(self, clock.nowMs));
    assert.deepEqual(guard.counters, { unmarked: 0, process: 0, late: 0, repeated: 1, full: 0 });
    assert.throws(() => guard.demand(markFor({ ...self, session: "a-0" })), /started again/);
  });

  it("refuses more questions than it can remember, until their time is over", () => {
    const { clock, guard } = guardAt(1_000_000);
    for (let count = 0; count < ownerNoncesMax; count += 1) guard.demand(markFor(self, clock.nowMs));
    assert.throws(() => guard.demand(markFor(self, clock.nowMs)), /too many questions/);
    assert.equal(guard.counters.full, 1);
    clock.nowMs += ownerQuestionMs + 1;
    guard.demand(markFor(self, clock.nowMs));
  });
});
