import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { WorkerReader } from "../../../src/master/metrics/workers.ts";
import { BatchMeter, type WorkerMeasures } from "../../../src/workers/measures/measures.ts";

const meter = new BatchMeter();
const measures = (batches: number): WorkerMeasures => meter.read({ batches });

describe("WorkerReader", () => {
  afterEach(() => meter.close());

  it("shows the last values of a worker that does not answer as stale, and does not ask it again meanwhile", async () => {
    let asked = 0;
    let answerLate: ((measures: WorkerMeasures) => void) | undefined;
    const reader = new WorkerReader({
      slotCount: 2,
      timeoutMs: 20,
      ask: (slot) => {
        if (slot === 0) return Promise.resolve(measures(1));
        asked += 1;
        if (asked === 1) return Promise.resolve(measures(7));
        return new Promise((resolve) => {
          answerLate = resolve;
        });
      },
      onFault: assert.fail,
    });
    assert.deepEqual(summary(await reader.read()), ["fresh 1", "fresh 7"]);
    assert.deepEqual(summary(await reader.read()), ["fresh 1", "stale 7"]);
    assert.deepEqual(summary(await reader.read()), ["fresh 1", "stale 7"]);
    assert.equal(asked, 2);
    answerLate?.(measures(9));
    await new Promise((resolve) => setImmediate(resolve));
    asked = 0;
    assert.deepEqual(summary(await reader.read()), ["fresh 1", "fresh 7"]);
  });

  it("keeps what a worker had counted that was replaced, so that sums over all workers do not go down", async () => {
    const answers = [
      { ...measures(7), threadId: 1 },
      { ...measures(9), threadId: 1 },
      { ...measures(2), threadId: 2 },
      { ...measures(3), threadId: 2 },
    ];
    const reader = new WorkerReader({
      slotCount: 1,
      timeoutMs: 5_000,
      ask: async () => answers.shift() ?? assert.fail(),
      onFault: assert.fail,
    });
    const sums: number[] = [];
    while (answers.length > 0) {
      const [reading] = await reader.read();
      sums.push((reading?.measures?.counters.batches ?? 0) + (reader.formerCounters.get("batches") ?? 0));
    }
    assert.deepEqual(sums, [7, 9, 11, 12]);
  });

  it("reports a worker that cannot answer, and goes on with the others", async () => {
    const faults: string[] = [];
    const reader = new WorkerReader({
      slotCount: 2,
      timeoutMs: 5_000,
      ask: (slot) => (slot === 0 ? Promise.reject(new Error("gone")) : Promise.resolve(measures(3))),
      onFault: (error) => faults.push(error.message),
    });
    assert.deepEqual(summary(await reader.read()), ["stale nothing", "fresh 3"]);
    assert.deepEqual(faults, ["gone"]);
  });
});

function summary(readings: Awaited<ReturnType<WorkerReader["read"]>>): string[] {
  return readings.map((reading) => {
    const batches = reading.measures?.counters.batches ?? "nothing";
    return `${reading.isStale ? "stale" : "fresh"} ${batches}`;
  });
}
