import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BatchRun } from "../../../src/master/batch-jobs/run.ts";
import type { BatchEntry } from "../../../src/wire/batch-options.ts";

type Plan = Extract<BatchEntry, { kind: "new" }>;

/** A batch job whose steps are named s1, s2 and so on, driven by hand: every move that starts minions is carried out at once. */
class Driven {
  readonly run: BatchRun;
  readonly entries: BatchEntry[] = [];
  nowMs = 0;
  #steps = 0;

  constructor(ids: readonly string[], window: number, plan: Partial<Plan> = {}, stepsMax = 100) {
    this.run = new BatchRun(stepsMax);
    const whole: Plan = {
      kind: "new",
      at: 0,
      jid: "20260101000000000000",
      user: "root",
      ping: "p",
      expected: ids.length,
      timeoutMs: 5_000,
      gatherTimeoutMs: 10_000,
      size: String(window),
      waitSeconds: 0,
      isFailHard: false,
      canary: 0,
      failuresMax: "",
      isStatic: false,
      load: "",
      ...plan,
    };
    this.note(whole);
    this.note({ kind: "queue", ids, absent: [], window });
  }

  note(entry: BatchEntry): void {
    this.entries.push(entry);
    this.run.apply(entry);
  }

  /** Ids of the steps that begin now. */
  advance(): string[][] {
    const begun: string[][] = [];
    for (;;) {
      const move = this.run.next(this.nowMs);
      if (move.kind !== "start") return begun;
      this.#steps += 1;
      this.note({ kind: "start", jid: `s${this.#steps}`, ids: move.ids, at: this.nowMs });
      begun.push([...move.ids]);
    }
  }

  returns(jid: string, id: string, retcode = 0): void {
    this.note({ kind: "return", jid, id, retcode, at: this.nowMs });
  }

  /** Every started minion returns at once with its `retcodeOf`, until the batch job is over. */
  runThrough(retcodeOf: (id: string) => number): string[] {
    const started: string[] = [];
    for (;;) {
      const begun = this.advance().flat();
      started.push(...begun);
      const open = this.run.openSteps();
      if (open.length === 0) return started;
      for (const { jid, ids } of open) for (const id of ids) this.returns(jid, id, retcodeOf(id));
    }
  }

  get over(): unknown {
    const move = this.run.next(this.nowMs);
    return move.kind === "over" ? [move.outcome, move.culprit] : move.kind;
  }
}

const ids = (count: number) => Array.from({ length: count }, (_, index) => `m${String(index).padStart(3, "0")}`);

describe("a batch", () => {
  it("keeps a window full: as soon as one minion returns another starts", () => {
    const batch = new Driven(["a", "b", "c", "d"], 2);
    assert.deepEqual(batch.advance(), [["a", "b"]]);
    assert.deepEqual(batch.advance(), []);
    batch.returns("s1", "b");
    assert.deepEqual(batch.advance(), [["c"]]);
    batch.returns("s1", "a");
    batch.returns("s2", "c");
    assert.deepEqual(batch.advance(), [["d"]]);
    assert.equal(batch.over, "wait");
    batch.returns("s3", "d");
    assert.deepEqual(batch.over, ["finished", ""]);
  });

  it("leaves a slot empty for the time to wait", () => {
    const batch = new Driven(["a", "b", "c"], 2, { waitSeconds: 2 });
    batch.advance();
    batch.nowMs = 500;
    batch.returns("s1", "a");
    assert.deepEqual(batch.run.next(500), { kind: "wait", atMs: 2_500 });
    batch.nowMs = 2_500;
    assert.deepEqual(batch.advance(), [["c"]]);
  });

  it("waits no longer than its time after the clock was set back", () => {
    const batch = new Driven(["a", "b", "c"], 2, { waitSeconds: 2 });
    batch.nowMs = 3_600_000;
    batch.advance();
    batch.returns("s1", "a");
    assert.deepEqual(batch.run.next(1_000), { kind: "wait", atMs: 3_000 });
    assert.deepEqual(batch.run.next(2_000), { kind: "wait", atMs: 3_000 });
    batch.nowMs = 3_000;
    assert.deepEqual(batch.advance(), [["c"]]);
  });

  it("leaves a slot empty for its whole time though the clock is set meanwhile", () => {
    for (const hourMs of [3_600_000, -3_600_000]) {
      const batch = new Driven(["a", "b", "c"], 2, { waitSeconds: 2 });
      batch.advance();
      batch.returns("s1", "a");
      batch.run.noteClockSet(hourMs);
      assert.deepEqual(batch.run.next(hourMs + 500), { kind: "wait", atMs: hourMs + 2_000 });
      batch.nowMs = hourMs + 2_000;
      assert.deepEqual(batch.advance(), [["c"]]);
    }
  });

  it("passes the highest exit code on, and counts a silent minion as failed", () => {
    const batch = new Driven(["a", "b", "c"], 3);
    batch.advance();
    batch.returns("s1", "a", 3);
    batch.returns("s1", "b", 2);
    batch.note({ kind: "silent", jid: "s1", ids: ["c"], at: 0 });
    assert.deepEqual(batch.over, ["finished", ""]);
    const { returned, failed, silent, retcode } = batch.run.counts;
    assert.deepEqual({ returned, failed, silent, retcode }, { returned: 2, failed: 3, silent: 1, retcode: 3 });
  });

  it("ends at once with failhard, though minions still run", () => {
    const batch = new Driven(["a", "b", "c"], 2, { isFailHard: true });
    batch.advance();
    batch.returns("s1", "b", 4);
    assert.deepEqual(batch.over, ["failhard", "b"]);
  });

  it("starts the canaries alone, and the others only when all of them have succeeded", () => {
    const batch = new Driven(ids(10), 4, { canary: 2 });
    assert.deepEqual(batch.advance(), [["m000", "m001"]]);
    batch.returns("s1", "m001");
    assert.deepEqual(batch.advance(), []);
    batch.returns("s1", "m000");
    assert.deepEqual(batch.advance(), [["m002", "m003", "m004", "m005"]]);
  });

  it("runs more canaries than fit into the window one window after the other", () => {
    const batch = new Driven(ids(6), 2, { canary: 3 });
    assert.deepEqual(batch.advance(), [["m000", "m001"]]);
    batch.returns("s1", "m000");
    assert.deepEqual(batch.advance(), [["m002"]]);
    batch.returns("s1", "m001");
    assert.deepEqual(batch.advance(), []);
    batch.returns("s2", "m002");
    assert.deepEqual(batch.advance(), [["m003", "m004"]]);
  });

  it("stops when a canary fails or stays silent, after the others of them have ended", () => {
    const batch = new Driven(ids(10), 4, { canary: 2 });
    batch.advance();
    batch.note({ kind: "silent", jid: "s1", ids: ["m000"], at: 0 });
    assert.equal(batch.over, "wait");
    batch.returns("s1", "m001");
    assert.deepEqual(batch.over, ["canary", "m000"]);
    assert.equal(batch.run.counts.queued, 8);
  });

  it("stops at a number of failures, or at a percentage", () => {
    for (const failuresMax of ["5", "5%"]) {
      const batch = new Driven(ids(100), 1, { failuresMax });
      // Every fourth minion fails, so that the fifth failure is the twentieth minion.
      const started = batch.runThrough((id) => (Number(id.slice(1)) % 4 === 3 ? 1 : 0));
      assert.equal(started.length, 20, failuresMax);
      assert.deepEqual(batch.over, ["failures", "m019"]);
    }
  });

  it("lets running minions return after a stop, and starts no others", () => {
    const batch = new Driven(ids(10), 3, { failuresMax: "1" });
    batch.advance();
    batch.returns("s1", "m001", 1);
    assert.deepEqual(batch.advance(), []);
    assert.equal(batch.run.state, "stopping");
    batch.returns("s1", "m000");
    batch.returns("s1", "m002");
    assert.deepEqual(batch.over, ["failures", "m001"]);
    assert.equal(batch.run.counts.returned, 3);
  });

  it("starts no minion while it is paused, and goes on when resumed", () => {
    const batch = new Driven(["a", "b"], 1);
    batch.advance();
    batch.note({ kind: "pause", user: "ann", at: 0 });
    batch.returns("s1", "a");
    assert.deepEqual(batch.advance(), []);
    assert.equal(batch.run.state, "paused");
    batch.note({ kind: "resume", user: "ann", at: 0 });
    assert.deepEqual(batch.advance(), [["b"]]);
  });

  it("ends when it is aborted and the last that ran has returned", () => {
    const batch = new Driven(["a", "b"], 1);
    batch.advance();
    batch.note({ kind: "abort", user: "ann", at: 0 });
    assert.equal(batch.over, "wait");
    batch.returns("s1", "a");
    assert.deepEqual(batch.over, ["aborted", "ann"]);
  });

  it("takes in minions that answer the ping late, and ignores returns that it does not wait for", () => {
    const batch = new Driven(["a"], 1);
    batch.advance();
    batch.note({ kind: "late", id: "z" });
    batch.returns("s1", "z");
    batch.returns("s0", "a");
    assert.deepEqual(batch.advance(), []);
    batch.returns("s1", "a");
    batch.returns("s1", "a", 9);
    assert.deepEqual(batch.advance(), [["z"]]);
    assert.equal(batch.run.counts.retcode, 0);
  });

  it("gathers slots once the bound of steps is under way", () => {
    const batch = new Driven(ids(6), 3, {}, 2);
    batch.advance();
    batch.returns("s1", "m000");
    assert.deepEqual(batch.advance(), [["m003"]]);
    batch.returns("s1", "m001");
    assert.deepEqual(batch.advance(), []);
    batch.returns("s1", "m002");
    assert.deepEqual(batch.advance(), [["m004", "m005"]]);
  });

  it("has the same state when it is read back from its entries at any point", () => {
    const batch = new Driven(ids(12), 3, { canary: 2, failuresMax: "2", waitSeconds: 1 });
    for (let round = 0; round < 12; round += 1) {
      batch.advance();
      const [step] = batch.run.openSteps();
      if (step?.ids[0] !== undefined) batch.returns(step.jid, step.ids[0], round === 6 ? 1 : 0);
      batch.nowMs += 400;
    }
    assert.ok(batch.entries.length > 15);
    for (let count = 1; count <= batch.entries.length; count += 1) {
      const live = new BatchRun(100);
      const readBack = new BatchRun(100);
      for (const entry of batch.entries.slice(0, count)) {
        live.apply(entry);
        live.next(batch.nowMs);
        readBack.apply(JSON.parse(JSON.stringify(entry)) as BatchEntry);
      }
      assert.deepEqual(readBack.next(batch.nowMs), live.next(batch.nowMs));
      assert.deepEqual(readBack.counts, live.counts);
    }
  });
});
