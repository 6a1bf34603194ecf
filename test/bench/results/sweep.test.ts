import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { resultText } from "../../../bench/commands/result-text.ts";
import { sweptResult } from "../../../bench/commands/sweep.ts";
import { faultInResult } from "../../../bench/results/shape.ts";
import { samplePoint, sampleResult } from "../sample-result.ts";

const comparison = {
  baseline: "a",
  candidate: "b",
  ratio: 2,
  low: 1.9,
  high: 2.1,
  repeats: 4,
  verdict: "more",
} as const;

function measured(missing: number) {
  const correctness = { expected: 10, accounted: 10 - missing, missing, duplicates: 0, errors: {} };
  return sampleResult({
    points: [samplePoint({ correctness })],
    peers: [{ master: { kind: "salt", version: "3007.16", config: {} }, points: [samplePoint()] }],
    comparisons: [{ name: "CPU", ...comparison }],
  });
}

describe("the result of a sweep", () => {
  it("has the points of all values, ours and the peers', each under its value", () => {
    const swept = sweptResult({ key: "minions", values: ["10", "20", "30"] }, [measured(0), measured(1)]);
    assert.equal(faultInResult(swept), undefined);
    assert.equal(swept.scenario.parameters.minions, "10,20");
    assert.deepEqual(
      swept.points.map(({ label, correctness }) => `${label}: ${correctness.missing}`),
      ["minions=10, storm: 0", "minions=20, storm: 1"],
    );
    assert.deepEqual(
      swept.peers?.map(({ points }) => points.map(({ label }) => label)),
      [["minions=10, storm", "minions=20, storm"]],
    );
    assert.deepEqual(
      swept.comparisons?.map(({ name }) => name),
      ["minions=10: CPU", "minions=20: CPU"],
    );
    assert.match(resultText(swept), /minions=20, storm/);
  });
});
