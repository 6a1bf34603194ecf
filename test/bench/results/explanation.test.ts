import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { differences } from "../../../bench/report/compare.ts";
import { explanations } from "../../../bench/report/explanation.ts";
import type { RunResult } from "../../../bench/results/schema.ts";
import { sampleOperation, samplePoint, sampleResult } from "../sample-result.ts";

/** A result of runs with this CPU per operation, 40 µs of it on the main thread. */
function costing(p99Ms: number, ...costs: readonly number[]): RunResult {
  const percentilesUs = { p50: 1_000, p90: 2_000, p99: p99Ms * 1_000, p999: 50_000, max: 60_000 };
  const points = costs.map((usPerOperation) =>
    samplePoint({
      operations: { return: { ...sampleOperation(4), percentilesUs } },
      cpu: { totalMs: 1, usPerOperation, byThreadMs: { main: 40, "sw-worker-0": usPerOperation - 40 } },
    }),
  );
  return sampleResult({ points });
}

const explained = (before: RunResult, after: RunResult) =>
  explanations(before, after, differences(before, after)).join("\n");

describe("the explanation of a difference", () => {
  it("says how far CPU fell, in which threads, and what became of the tail", () => {
    assert.equal(
      explained(costing(10, 100, 101, 99, 100), costing(10, 80, 81, 79, 80)),
      "storm: CPU per operation fell from 100 to 80 µs (−20 %; 95 %: −21 % to −19 %), mainly in sw-worker −20 µs; the p99 of return stayed at 10 ms.",
    );
  });

  it("says that single runs tell nothing from noise", () => {
    const text = explained(costing(10, 100), costing(12, 110));
    assert.match(
      text,
      /CPU per operation went from 100 to 110 µs \(\+10\.0 %\), from too few runs to tell it from noise/,
    );
    assert.match(text, /mainly in sw-worker \+10 µs; the p99 of return went from 10 to 12 ms/);
  });
});
