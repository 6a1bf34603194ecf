/** Schedules are fixed beforehand, have the given rate, and are the same for the same seed. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Pacer, planSchedule } from "../../bench/load/open-loop.ts";

describe("planSchedule", () => {
  it("spaces a constant rate evenly from the start", () => {
    const { count, plannedMs } = planSchedule({ ratePerSecond: 200, seconds: 0.05, arrivals: "constant", seed: 1 });
    assert.equal(count, 10);
    assert.deepEqual([...plannedMs], [0, 5, 10, 15, 20, 25, 30, 35, 40, 45]);
  });

  it("draws random arrivals whose gaps are exponential: mean and deviation alike", () => {
    const { plannedMs } = planSchedule({ ratePerSecond: 1_000, seconds: 20, arrivals: "poisson", seed: 7 });
    const gaps = [...plannedMs].map((at, index) => at - (plannedMs[index - 1] ?? 0));
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
    assert.ok(Math.abs(mean - 1) < 0.03, `mean gap ${mean} ms`);
    assert.ok(Math.abs(deviation - 1) < 0.05, `deviation ${deviation} ms`);
    assert.ok(gaps.every((gap) => gap >= 0));
  });

  it("gives the same times for the same seed, and others for another", () => {
    const plan = (seed: number) => planSchedule({ ratePerSecond: 100, seconds: 1, arrivals: "poisson", seed });
    assert.deepEqual(plan(3).plannedMs, plan(3).plannedMs);
    assert.notDeepEqual(plan(3).plannedMs, plan(4).plannedMs);
  });

  it("refuses a rate of nothing", () => {
    for (const ratePerSecond of [0, -1, Number.NaN]) {
      assert.throws(() => planSchedule({ ratePerSecond, seconds: 1, arrivals: "constant", seed: 1 }), {
        code: "USAGE",
      });
    }
  });
});

describe("Pacer", () => {
  it("tells of every operation once, in order, never before its time", async () => {
    const plannedMs = Float64Array.of(0, 0, 3, 3, 20);
    const startedMs = performance.now();
    const told: number[] = [];
    await new Promise<void>((resolve) => {
      new Pacer(plannedMs, startedMs, (index) => {
        assert.ok(performance.now() - startedMs >= (plannedMs[index] ?? 0));
        told.push(index);
        if (told.length === plannedMs.length) resolve();
      });
    });
    assert.deepEqual(told, [0, 1, 2, 3, 4]);
  });

  it("tells of none after it was stopped", async () => {
    const told: number[] = [];
    const pacer = new Pacer(Float64Array.of(0, 5), performance.now(), (index) => told.push(index));
    pacer.stop();
    await new Promise((resolve) => setTimeout(resolve, 15));
    assert.deepEqual(told, [0]);
  });
});
