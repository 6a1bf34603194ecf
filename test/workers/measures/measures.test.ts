import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BatchMeter, StageClock } from "../../../src/workers/measures/measures.ts";

describe("BatchMeter", () => {
  it("counts requests by command and outcome, and all commands that Salt does not have as one", () => {
    const meter = new BatchMeter();
    meter.noteRequest("_return", "answered");
    meter.noteRequest("_return", "answered");
    meter.noteRequest("_auth", "deferred");
    for (let index = 0; index < 1_000; index += 1) meter.noteRequest(`invented-${index}`, "failed");
    meter.noteRequest("__proto__", "answered");
    assert.deepEqual(meter.read({}).requests, {
      _return: { answered: 2, deferred: 0, failed: 0 },
      _auth: { answered: 0, deferred: 1, failed: 0 },
      other: { answered: 1, deferred: 0, failed: 1_000 },
    });
    meter.close();
  });

  it("observes each stage once a batch, in seconds", () => {
    const meter = new BatchMeter();
    const clock = new StageClock();
    clock.open = 3;
    clock.commit = 2_000;
    meter.noteBatch(5, clock);
    const { stages, batchItems } = meter.read({});
    assert.equal(batchItems.sum, 5);
    assert.deepEqual(
      Object.values(stages).map(({ sum }) => sum),
      [0.003, 0, 2, 0],
    );
    assert.ok(Object.values(stages).every(({ counts }) => counts.reduce((sum, count) => sum + count, 0) === 1));
    meter.close();
  });
});

describe("StageClock", () => {
  it("gives all of a batch's time to its stages", () => {
    const clock = new StageClock();
    for (const stage of ["open", "handle", "seal", "open", "handle", "seal", "commit"] as const) clock.lap(stage);
    const { open, handle, commit, seal } = clock;
    assert.ok(Math.abs(open + handle + commit + seal - clock.totalMs) < 1e-6);
    assert.ok(Math.min(open, handle, commit, seal) >= 0);
  });
});
