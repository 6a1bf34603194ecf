/** A schedule that is split over processes keeps every time, and gives each process whole rounds of its minions. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { splitSchedule } from "../../bench/fleet/storm/outcome.ts";
import { slopeOf } from "../../bench/scenarios/growth.ts";
import { parseMetrics, sumOf } from "../../bench/scenarios/prometheus.ts";

describe("splitSchedule", () => {
  for (const counts of [[4], [2, 2], [3, 4], [2, 3, 3]]) {
    it(`over ${counts.join(" and ")} minions`, () => {
      const rounds = 3;
      const minions = counts.reduce((sum, count) => sum + count, 0);
      const plannedMs = Float64Array.from({ length: rounds * minions }, (_, index) => index);
      const parts = splitSchedule(plannedMs, counts);
      assert.deepEqual(
        parts.map((part) => part.length),
        counts.map((count) => count * rounds),
      );
      assert.deepEqual(
        parts.flatMap((part) => [...part]).sort((a, b) => a - b),
        [...plannedMs],
      );
      for (const part of parts)
        assert.deepEqual(
          [...part],
          [...part].sort((a, b) => a - b),
        );
    });
  }
});

describe("slopeOf", () => {
  it("is that of the line through the points", () => {
    assert.equal(slopeOf([0, 1, 2, 3].map((x) => [x, 5 + 2 * x] as const)), 2);
    assert.equal(slopeOf([[1, 1]]), 0);
    assert.equal(slopeOf([]), 0);
  });
});

describe("parseMetrics", () => {
  it("adds up samples by name and label", () => {
    const text =
      '# HELP a b\n# TYPE a counter\na{worker="0",outcome="x"} 2\na{worker="1",outcome="x"} 3\na{outcome="y"} 1\nb 7e3\n';
    const samples = parseMetrics(text);
    assert.equal(sumOf(samples, "a"), 6);
    assert.equal(sumOf(samples, "a", 'outcome="x"'), 5);
    assert.equal(sumOf(samples, "b"), 7_000);
    assert.equal(sumOf(samples, "absent"), 0);
  });
});
