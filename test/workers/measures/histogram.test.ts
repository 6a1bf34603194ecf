import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Histogram } from "../../../src/workers/measures/histogram.ts";

describe("Histogram", () => {
  it("counts a value in the first bucket whose bound it does not exceed, and what exceeds all in the last", () => {
    const histogram = new Histogram([1, 10, 100]);
    for (const value of [0, 1, 1.5, 10, 11, 100, 101, 1e9]) histogram.observe(value);
    const { counts, sum } = histogram.snapshot();
    assert.deepEqual(counts, [2, 2, 2, 2]);
    assert.equal(sum, 0 + 1 + 1.5 + 10 + 11 + 100 + 101 + 1e9);
  });

  it("gives snapshots that later values do not change", () => {
    const histogram = new Histogram([1]);
    const before = histogram.snapshot();
    histogram.observe(1);
    assert.deepEqual(before.counts, [0, 0]);
    assert.deepEqual(histogram.snapshot().counts, [1, 0]);
  });
});
