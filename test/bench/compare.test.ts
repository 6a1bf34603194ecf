import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Difference, differences, refusals, warnings, withheldIn } from "../../bench/report/compare.ts";
import type { RunResult } from "../../bench/results/schema.ts";
import { sampleOperation, samplePoint, sampleResult } from "./sample-result.ts";

function costing(...costs: readonly number[]): RunResult {
  const points = costs.map((usPerOperation, index) =>
    samplePoint({ parameters: { repeat: index + 1 }, cpu: { totalMs: 1, usPerOperation, byThreadMs: {} } }),
  );
  return sampleResult({ points });
}

function cost(before: RunResult, after: RunResult): Difference {
  const found = differences(before, after).find(({ name }) => name === "CPU µs per operation");
  assert.ok(found);
  return found;
}

describe("refusals", () => {
  const base = sampleResult();
  const scenario = (change: Partial<RunResult["scenario"]>) =>
    sampleResult({ scenario: { ...base.scenario, ...change } });

  it("has none for two runs of the same", () => assert.deepEqual(refusals(base, sampleResult()), []));

  it("names what differs: scenario, version, or each parameter with both values", () => {
    assert.deepEqual(refusals(base, scenario({ name: "auth-storm" })), [
      "the scenarios differ: return-storm and auth-storm",
    ]);
    assert.deepEqual(refusals(base, scenario({ version: 2, parameters: { minions: 500, rate: 10 } })), [
      "the versions of return-storm differ: 1 and 2",
      "the parameter minions differs: 1000 and 500",
      "the parameter rate differs: none and 10",
    ]);
  });

  it("names another workload file, another address and settings that differ", () => {
    const [one, two] = ["a", "b"].map((source) => scenario({ source }));
    assert.ok(one && two);
    assert.deepEqual(refusals(one, two), ["the workload file differs: ca978112 and 3e23e816"]);
    assert.deepEqual(refusals(base, one), ["the workload file differs: none and ca978112"]);
    assert.deepEqual(refusals(one, one), []);
    const master = (change: Partial<RunResult["master"]>) => sampleResult({ master: { ...base.master, ...change } });
    assert.deepEqual(refusals(base, master({ address: "salt:4506" })), [
      "the address differs: a master of the bench and salt:4506",
    ]);
    assert.deepEqual(refusals(master({ cluster: { members: 3, natsServer: "2.15.2" } }), base), [
      "the members differs: 3 and none",
      "the nats-server differs: 2.15.2 and none",
    ]);
    assert.deepEqual(refusals(base, master({ config: { worker_threads: 4 } })), [
      "the worker_threads differs: 2 and 4",
    ]);
    const settings = { worker_threads: 2, batch_linger_us: 500 };
    assert.deepEqual(refusals(master({ settings: { worker_threads: 2 } }), master({ settings })), [
      "the batch_linger_us differs: its default and 500",
    ]);
    // A result that does not have its settings says nothing about them.
    assert.deepEqual(refusals(base, master({ settings })), []);
  });

  it("does not take the directory of a run for a setting", () => {
    const [one, two] = [11, 12].map((id) =>
      sampleResult({
        master: { ...base.master, config: { file_roots: [`/tmp/saltworks-bench-highstate-${id}/states`] } },
      }),
    );
    assert.ok(one && two);
    assert.deepEqual(refusals(one, two), []);
  });
});

describe("warnings", () => {
  it("says what the reader must know: other machine, void runs", () => {
    const base = sampleResult();
    const point = samplePoint();
    const other = sampleResult({
      machine: { ...base.machine, cores: 8 },
      points: [{ ...point, generator: { ...point.generator, isVoid: true } }],
    });
    assert.deepEqual(warnings(base, other), [
      "the machines differ in cores: 4 and 8",
      "1 of 1 runs of the second result are void and left out",
    ]);
    assert.deepEqual(warnings(base, base), []);
  });
});

describe("differences", () => {
  it("gives every percentile, throughput, cost, memory and figure of points with the same label", () => {
    const names = differences(sampleResult(), sampleResult()).map(({ name }) => name);
    assert.deepEqual(names, [
      ...["p50", "p90", "p99", "p999", "max"].map((name) => `return ${name} ms`),
      "return per second",
      "return failed or timed out",
      "CPU µs per operation",
      "memory MiB",
      "cpuUsPerReturn",
    ]);
    assert.deepEqual(differences(sampleResult(), sampleResult({ points: [samplePoint({ label: "other" })] })), []);
  });

  it("does not have CPU and memory that the bench could not see", () => {
    const unseen = sampleResult({ points: [samplePoint({ isUsageUnknown: true })] });
    for (const found of [differences(sampleResult(), unseen), differences(unseen, unseen)])
      assert.deepEqual(
        found.filter(({ name }) => /CPU|memory/.test(name)),
        [],
      );
  });

  it("leaves out percentiles of which a run has too few samples, and names them", () => {
    const few = samplePoint({ operations: { return: { ...sampleOperation(4), completed: 40 } } });
    const after = sampleResult({ points: [few] });
    const names = differences(sampleResult(), after).map(({ name }) => name);
    assert.ok(names.includes("return p90 ms") && !names.includes("return p99 ms"));
    assert.deepEqual(withheldIn(sampleResult(), after), [
      { label: "storm", name: "return p99 ms", samples: [2_000, 40] },
      { label: "storm", name: "return p999 ms", samples: [2_000, 40] },
    ]);
  });

  it("has no interval and no verdict for single runs", () => {
    const { ratio, interval, verdict, runs } = cost(costing(100), costing(50));
    assert.deepEqual([ratio?.toFixed(6), interval, verdict, runs], ["0.500000", undefined, "no verdict", [1, 1]]);
  });

  it("has an interval around the ratio where both were repeated, and a verdict where it leaves out 1", () => {
    const { ratio, interval, verdict } = cost(costing(100, 102, 98, 101), costing(80, 82, 79, 81));
    assert.ok(ratio !== undefined && Math.abs(ratio - 0.803) < 0.002);
    assert.ok(interval && interval.low < 0.803 && interval.high > 0.803 && interval.high < 0.84);
    assert.equal(verdict, "less");
    assert.equal(cost(costing(80, 82, 79, 81), costing(100, 102, 98, 101)).verdict, "more");
  });

  it("gives no verdict for what repeats differ by anyhow", () => {
    assert.equal(cost(costing(100, 140, 80), costing(95, 130, 70)).verdict, "no verdict");
  });

  it("covers the truth about as often as it says", () => {
    // Repeats whose logarithms are around 0 like -1, 0, 1: the same on both sides, rotated by a seed.
    let seed = 7;
    const next = (): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed / 2 ** 31;
    };
    // The sum of twelve uniform numbers, which is nearly normal.
    const normal = (): number => Array.from({ length: 12 }, next).reduce((sum, value) => sum + value, -6);
    const draw = (): RunResult => costing(...Array.from({ length: 4 }, () => 100 * Math.exp(0.1 * normal())));
    let covered = 0;
    const trials = 300;
    for (let trial = 0; trial < trials; trial += 1) if (cost(draw(), draw()).verdict === "no verdict") covered += 1;
    assert.ok(covered / trials > 0.91 && covered / trials < 0.99, `${covered} of ${trials}`);
  });

  it("leaves void runs out, and does not divide by nothing", () => {
    const before = costing(100, 50);
    const [, second] = before.points;
    assert.ok(second);
    second.generator = { ...second.generator, isVoid: true };
    assert.equal(cost(before, costing(100)).ratio?.toFixed(6), "1.000000");
    const failures = differences(before, before).find(({ name }) => name === "return failed or timed out");
    assert.deepEqual([failures?.before, failures?.ratio, failures?.verdict], [0, undefined, "no verdict"]);
  });
});
