/** Invented results in the form of a scenario's, for tests of programs that read results. */
import { LatencyHistogram } from "../../bench/load/histogram.ts";
import { type OperationResult, type Point, type RunResult, resultSchema } from "../../bench/results/schema.ts";

type PointChange = Partial<Omit<Point, "parameters">> & { readonly parameters?: Point["parameters"] };

export function sampleOperation(latencyMs: number, perSecond = 4_000): OperationResult {
  const histogram = new LatencyHistogram();
  for (let index = 0; index < 2_000; index += 1) histogram.recordMs(latencyMs * (1 + (index / 2_000) ** 8 * 9));
  const completed = histogram.count;
  const planned = { planned: completed, sent: completed, completed, failed: 0, timedOut: 0, late: 0 };
  return { ...planned, histogram: histogram.encode(), percentilesUs: histogram.percentilesUs(), perSecond };
}

export function samplePoint(change: PointChange = {}): Point {
  return {
    label: "storm",
    parameters: {},
    wallMs: 10_000,
    operations: { return: sampleOperation(4) },
    cpu: {
      totalMs: 2_600,
      usPerOperation: 65,
      byThreadMs: { saltworks: 900, "sw-worker-0": 600, "sw-worker-1": 550, "sw-publish": 350, V8Worker: 200 },
    },
    memory: { rssBytes: 210_000_000, peakRssBytes: 260_000_000 },
    series: {
      atMs: [0, 1_000, 2_000, 3_000],
      values: { queueDepth: [0, 12, 30, 8], queueWaitUs: [100, 900, 2_500, 400] },
    },
    correctness: { expected: 2_000, accounted: 2_000, missing: 0, duplicates: 0, errors: {} },
    generator: { cpuShare: 0.5, loopDelayP99Ms: 2.5, lateSends: 0, isVoid: false, voidReasons: [] },
    figures: { cpuUsPerReturn: 65 },
    ...change,
  };
}

export function sampleResult(change: Partial<RunResult> = {}): RunResult {
  return {
    schema: resultSchema,
    startedAt: "2026-11-21T10:00:00.000Z",
    tool: { version: "0.1.0", commit: "abc1234" },
    machine: { node: "v20.20.2", cpu: "A processor", cores: 4, memoryBytes: 8e9, kernel: "6.1.0", loadAverage: 0.3 },
    scenario: {
      name: "return-storm",
      version: 1,
      question: "What does a return cost?",
      parameters: { minions: 1_000 },
    },
    master: { kind: "saltworks", version: "0.1.0", config: { worker_threads: 2 } },
    points: [samplePoint()],
    ...change,
  };
}
