import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Change, Snapshot } from "../../../src/cli/top/snapshot.ts";
import type { Value } from "../../../src/wire/values.ts";

function snapshotOf(rows: readonly [string, Record<string, string>, number][]): Snapshot {
  return new Snapshot(rows.map(([name, labels, value]): Value => [name, new Map(Object.entries(labels)), value]));
}

function waits(...counts: readonly number[]): [string, Record<string, string>, number][] {
  const bounds = ["0.001", "0.01", "+Inf"];
  return counts.map((count, index) => [
    "saltworks_queue_wait_seconds_bucket",
    { worker: "0", queue: "requests", le: bounds[index] ?? "" },
    count,
  ]);
}

describe("Change", () => {
  it("sums over labels that are not asked for, and gives rates a second", () => {
    const before = snapshotOf([["saltworks_returns_total", { worker: "0", outcome: "stored" }, 10]]);
    const now = snapshotOf([
      ["saltworks_returns_total", { worker: "0", outcome: "stored" }, 40],
      ["saltworks_returns_total", { worker: "1", outcome: "stored" }, 10],
    ]);
    const change = new Change(before, now, 2);
    assert.equal(change.rate("saltworks_returns_total"), 20);
    assert.equal(change.rate("saltworks_returns_total", { worker: "1" }), 5);
  });

  it("counts from 0 after a master was started again", () => {
    const change = new Change(
      snapshotOf([["saltworks_frames_received_total", {}, 1_000]]),
      snapshotOf([["saltworks_frames_received_total", {}, 30]]),
      1,
    );
    assert.equal(change.growth("saltworks_frames_received_total"), 30);
  });

  it("counts a replaced worker's from 0 and goes on with the others'", () => {
    const returns = (...counts: readonly number[]) =>
      snapshotOf(
        counts.map((count, worker) => [
          "saltworks_returns_total",
          { worker: String(worker), outcome: "stored" },
          count,
        ]),
      );
    const change = new Change(returns(1_000_000, 1_000_000), returns(30, 1_000_070), 1);
    assert.equal(change.growth("saltworks_returns_total"), 100);
  });

  it("finds a quantile beside a worker that was replaced", () => {
    const of = (worker: string, counts: readonly number[]) =>
      waits(...counts).map(([name, labels, value]): [string, Record<string, string>, number] => [
        name,
        { ...labels, worker },
        value,
      ]);
    const before = snapshotOf([...of("0", [900, 900, 900]), ...of("1", [5, 5, 5])]);
    const now = snapshotOf([...of("0", [0, 1, 1]), ...of("1", [104, 104, 104])]);
    const quantile = (share: number) =>
      new Change(before, now, 1).quantile("saltworks_queue_wait_seconds", share, { queue: "requests" });
    assert.deepEqual([quantile(0.99), quantile(1)], [0.001, 0.01]);
  });

  it("finds the bucket in which a quantile of what was added lies", () => {
    const quantileAfter = (...counts: readonly number[]) =>
      new Change(snapshotOf(waits(5, 5, 5)), snapshotOf(waits(...counts)), 1).quantile(
        "saltworks_queue_wait_seconds",
        0.99,
        { queue: "requests" },
      );
    assert.equal(quantileAfter(5, 5, 5), undefined);
    assert.equal(quantileAfter(104, 105, 105), 0.001);
    assert.equal(quantileAfter(103, 105, 105), 0.01);
    assert.equal(quantileAfter(5, 5, 6), Number.POSITIVE_INFINITY);
  });
});
