/** The result of one run: a JSON file, whose shape is versioned by `resultSchema`. docs/bench.md describes each field. */

export const resultSchema = "saltworks-bench/1";

export type ParameterValue = string | number | boolean;
export type ParameterValues = Readonly<Record<string, ParameterValue>>;

/** One class of operation: counts by outcome, and latencies from the planned times. */
export type OperationResult = {
  planned: number;
  sent: number;
  completed: number;
  failed: number;
  timedOut: number;
  /** Sent more than 5 ms after their planned time, because the generator was behind. */
  late: number;
  /** HdrHistogram V2, compressed, Base64: microseconds from the planned time of sending. */
  histogram: string;
  percentilesUs: { p50: number; p90: number; p99: number; p999: number; max: number };
  perSecond: number;
};

/** Values over time. Every list is as long as `atMs`, which counts from the start of the measured span. */
export type Series = { atMs: number[]; values: Record<string, number[]> };

/** One host that generated a part of the load, if agents did. */
export type AgentReport = {
  /** The name that the host gives itself. */
  host: string;
  /** Where the agent listens. */
  address: string;
  cores: number;
  cpu: string;
  node: string;
  /** The host's clock minus that of the bench, and how far it may be from this. */
  clockOffsetMs: number;
  clockUncertaintyMs: number;
  /** Of all cores of the host, used by the generator's processes. */
  cpuShare: number;
  minions: number;
};

export type Point = {
  label: string;
  parameters: Record<string, ParameterValue>;
  wallMs: number;
  operations: Record<string, OperationResult>;
  cpu: {
    totalMs: number;
    usPerOperation: number;
    /** By name of thread, summed over all processes of the master. */
    byThreadMs: Record<string, number>;
  };
  memory: { rssBytes: number; peakRssBytes: number };
  series: Series;
  /** Every jid x minion that should have been answered, compared with the returns that the master has stored. */
  correctness: {
    expected: number;
    accounted: number;
    missing: number;
    duplicates: number;
    errors: Record<string, number>;
  };
  generator: {
    cpuShare: number;
    loopDelayP99Ms: number;
    lateSends: number;
    isVoid: boolean;
    voidReasons: string[];
    agents?: AgentReport[];
  };
  /** The scenario's own figures, with the unit in each name. */
  figures: Record<string, number>;
};

export type MachineFingerprint = {
  node: string;
  cpu: string;
  cores: number;
  memoryBytes: number;
  kernel: string;
  /** The load average of the last minute when the run began. */
  loadAverage: number;
};

export type MasterKind = "saltworks" | "salt" | "floor";

export type Comparison = {
  name: string;
  baseline: string;
  candidate: string;
  /** The ratio of candidate to baseline. */
  ratio: number;
  /** Bootstrap interval of 95 %. */
  low: number;
  high: number;
  repeats: number;
  verdict: "less" | "more" | "no verdict";
};

export type RunResult = {
  schema: typeof resultSchema;
  /** ISO 8601, UTC. */
  startedAt: string;
  tool: { version: string; commit: string };
  machine: MachineFingerprint;
  scenario: { name: string; version: number; question: string; parameters: Record<string, ParameterValue> };
  master: { kind: MasterKind; version: string; config: Record<string, unknown> };
  points: Point[];
  comparisons?: Comparison[];
  /** Other masters that were measured in turns with this one, under the same load. */
  peers?: { master: RunResult["master"]; points: Point[] }[];
  /** Conditions of `--fail-if`, judged on each point of ours. `observed`: in the condition's `unit`. */
  thresholds?: { text: string; label: string; observed: number; unit: string; isCrossed: boolean }[];
  /** The tuner's result: master configuration as text of a `master.d` file, and remarks on how far to trust it. */
  advice?: { masterConfig: string; remarks: string[] };
};
