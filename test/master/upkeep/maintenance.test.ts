import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Maintenance } from "../../../src/master/upkeep/maintenance.ts";
import type { TrimAnswer } from "../../../src/workers/messages/worker.ts";
import type { PoolTask } from "../../../src/workers/threads/worker-pool.ts";

function openMaintenance(keepJobsMs: number, oldRecords: number, keep = { jobsMax: 0, bytesMax: 0 }) {
  const steps: number[] = [];
  const sets: number[] = [];
  const sweeps: number[] = [];
  const offer = async (_: number, job: PoolTask) => {
    const { stepsMax } = job.build().task as { stepsMax: number };
    const count = Math.min(stepsMax, oldRecords);
    oldRecords -= count;
    steps.push(count);
    const answer: TrimAnswer = { removed: count, hasMore: count >= stepsMax };
    return answer as never;
  };
  const maintenance = new Maintenance({
    intervalMs: 60_000,
    keepJobsMs,
    keep,
    pool: { offer },
    sweepTokens: async (nowMs) => void sweeps.push(nowMs),
    rotateIfDue: async () => undefined,
    readFaults: async () => undefined,
    onFault: (error) => assert.fail(error),
    onClockSet: (stepMs) => void sets.push(stepMs),
    steadyMs: () => performance.now(),
  });
  return { maintenance, steps, sets, sweeps };
}

describe("Maintenance", () => {
  it("trims until nothing old is left, a bounded number of records at a time", async () => {
    const { maintenance, steps } = openMaintenance(1_000, 1_050);
    await maintenance.trim(10_000);
    maintenance.close();
    assert.equal(maintenance.counters.trimmed, 1_050);
    assert.ok(Math.max(...steps) <= 200);
  });

  it("keeps every job when keep_jobs_seconds is 0", async () => {
    const { maintenance, steps } = openMaintenance(0, 1_050);
    await maintenance.trim(10_000);
    maintenance.close();
    assert.deepEqual(steps, []);
  });

  it("trims for number or bytes alone, too", async () => {
    const { maintenance } = openMaintenance(0, 300, { jobsMax: 5, bytesMax: 0 });
    await maintenance.trim(10_000);
    maintenance.close();
    assert.equal(maintenance.counters.trimmed, 300);
  });

  it("removes nothing for its age when the clock was set forward, until it is set back", async () => {
    const { maintenance, steps, sets, sweeps } = openMaintenance(86_400_000, 300);
    const yearMs = 365 * 86_400_000;
    maintenance.run(Date.now() + yearMs);
    assert.deepEqual(steps, []);
    assert.deepEqual(sweeps, [], "no token goes");
    maintenance.run(Date.now());
    maintenance.close();
    assert.equal(sweeps.length, 1);
    assert.equal(steps.length, 1);
    assert.deepEqual(
      sets.map((stepMs) => Math.round(stepMs / yearMs)),
      [1, -1],
    );
  });

  it("ends a trim when it is closed", async () => {
    const { maintenance, steps } = openMaintenance(1_000, 1_000_000);
    const trimming = maintenance.trim(10_000);
    maintenance.close();
    await trimming;
    assert.equal(steps.length, 1);
  });
});
