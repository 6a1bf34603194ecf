/** The result of one run: a JSON file, whose shape is versioned by `resultSchema`. docs/bench.md describes each field. */

export const resultSchema = "saltworks-bench/1";

export type ParameterValue = string | number | boolean;
export type ParameterValues = Readonly<Record<string, ParameterValue>>;

/** One class of operation: what became of each, and how long it took from its planned time. */
export type OperationResult = {
  planned: number;
  sent: number;
  completed: number;
  failed: number;
  timedOut: number;
  /** Sent more than 5 ms after their planned time: the generator was behind. */
  late: number;
  /** HdrHistogram V2, compressed, Base64: microseconds from the planned time of sending. */
  histogram: string;
  percentilesUs: { p50: number; p90: number; p99: number; p999: number; max: number };
  perSecond: number;
};

/** Values over time; every list is as long as `atMs`, which counts from the start of the measured span. */
export type Series = { atMs: number[]; values: Record<string, number[]> };

export type Point = {
  label: string;
  parameters: Record<string, ParameterValue>;
  wallMs: number;
  operations: Record<string, OperationResult>;
  cpu: {
    totalMs: number;
    usPerOperation: number;
    /** By name of thread, over every process of the master. */
    byThreadMs: Record<string, number>;
  };
  memory: { rssBytes: number; peakRssBytes: number };
  series: Series;
  /** Every jid x minion that should have been answered, against what the master has stored. */
  correctness: {
    expected: number;
    accounted: number;
    missing: number;
    duplicates: number;
    errors: Record<string, number>;
  };
  generator: { cpuShare: number; loopDelayP99Ms: number; lateSends: number; isVoid: boolean; voidReasons: string[] };
  /** The scenario's own, with the unit in each name. */
  figures: Record<string, number>;
};

export type MachineFingerprint = {
  node: string;
  cpu: string;
  cores: number;
  memoryBytes: number;
  kernel: string;
  /** Over the last minute, when the run began. */
  loadAverage: number;
};

export type MasterKind = "saltworks" | "salt" | "floor";

export type Comparison = {
  name: string;
  baseline: string;
  candidate: string;
  /** Candidate to baseline. */
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
  /** Other masters that had the same load in turn with this one. */
  peers?: { master: RunResult["master"]; points: Point[] }[];
  /** A tuner's: master configuration as text of a `master.d` file, and what to know before it is believed. */
  advice?: { masterConfig: string; remarks: string[] };
};
