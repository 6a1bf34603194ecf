/** A percentile is shown only if samples lie above it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { resultText } from "../../../bench/commands/result-text.ts";
import { formatPercentileMs } from "../../../bench/report/format.ts";
import { type PercentileName, percentileUs } from "../../../bench/results/percentiles.ts";
import { sampleOperation, samplePoint, sampleResult } from "../sample-result.ts";

const percentilesUs = { p50: 1_000, p90: 2_000, p99: 3_000, p999: 4_000, max: 5_000 };
const of = (completed: number) => ({ ...sampleOperation(4), completed, percentilesUs });

describe("a percentile", () => {
  it("needs one sample above it", () => {
    const least: readonly (readonly [PercentileName, number])[] = [
      ["p50", 2],
      ["p90", 10],
      ["p99", 100],
      ["p999", 1_000],
      ["max", 1],
    ];
    for (const [name, count] of least) {
      assert.equal(percentileUs(of(count), name), percentilesUs[name], name);
      assert.equal(percentileUs(of(count - 1), name), undefined, name);
    }
  });

  it("is written with its doubt: few samples above it, or none", () => {
    assert.equal(formatPercentileMs(of(99), "p99"), "too few samples (99)");
    assert.equal(formatPercentileMs(of(999), "p99"), "≈ 3");
    assert.equal(formatPercentileMs(of(1_000), "p99"), "3");
    assert.equal(formatPercentileMs(of(1), "max"), "5");
  });

  it("is withheld in a result's text, which says what the mark means", () => {
    const text = resultText(sampleResult({ points: [samplePoint({ operations: { return: of(40) } })] }));
    assert.match(text, /too few samples \(40\)/);
    assert.match(text, /^≈: fewer than ten samples/m);
    assert.doesNotMatch(resultText(sampleResult()), /too few|≈/);
  });
});
