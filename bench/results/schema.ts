/** The result of one run: a JSON file, whose shape is versioned by `resultSchema`. docs/bench.md describes each field. */

export const resultSchema = "saltworks-bench/1";

export type ParameterValue = string | number | boolean;
export type ParameterValues = Readonly<Record<string, ParameterValue>>;

export type Loop = "open" | "closed";

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
  /** Open: latency counts from the planned time. Closed: from sending. */
  loop?: Loop;
  /** Bytes of the requests with their framing, and of their replies without it. */
  toMasterBytes?: number;
  fromMasterBytes?: number;
};

/**
 * What the span wrote, until the master was at rest. A figure that the system or this kind of master does not tell is left out.
 * Operations are those by which the CPU time is divided.
 */
export type Storage = {
  /** What the master wrote to files, the store's own overhead included; not the file system's journal. */
  writtenBytes?: number;
  writtenBytesPerOperation?: number;
  /** Batches of returns that waited for the disk, with one sync each. The store's own transactions, one for some 1,000 returns, come beside them. */
  syncs?: number;
  syncsPerOperation?: number;
  /** Batches in which workers took requests of all kinds. */
  batches?: number;
  /** Space that the cache directory takes on the disk. */
  cacheBytesBefore?: number;
  cacheBytesAfter?: number;
  cacheBytesPerOperation?: number;
  /** The growth of a day at the rate of the span. */
  cacheBytesPerDay?: number;
};

/** Bytes of all minions' connections within the span, publishes, greetings and framing included, TCP's own headers not. */
export type Network = {
  toMasterBytes: number;
  fromMasterBytes: number;
  toMasterBytesPerOperation: number;
  fromMasterBytesPerOperation: number;
};

/** Values over time. Every list is as long as `atMs`, which counts from the start of the measured span. */
export type Series = { atMs: number[]; values: Record<string, number[]> };

export type VoidCause = "generator" | "machine";
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
    /** Of a cluster: the members that minions return to, the other members, and all nats-servers. */
    cluster?: { takersMs: number; othersMs: number; serversMs: number };
  };
  /** `anonymousBytes`: resident memory without mapped files, such as the job cache. */
  memory: { rssBytes: number; peakRssBytes: number; anonymousBytes?: number };
  /** The master's CPU time and memory could not be read; `cpu` and `memory` are zeros that mean nothing. */
  isUsageUnknown?: boolean;
  storage?: Storage;
  /** Of scenarios whose minions are simulated by a storm. */
  network?: Network;
  series: Series;
  /** Every jid x minion that should have been answered, compared with the returns that the master has stored. */
  correctness: {
    expected: number;
    accounted: number;
    missing: number;
    duplicates: number;
    errors: Record<string, number>;
    /** The bench could not read the job cache: answers are counted by the master's replies to them. */
    countedBy?: "replies";
  };
  generator: {
    cpuShare: number;
    loopDelayP99Ms: number;
    lateSends: number;
    isVoid: boolean;
    voidReasons: string[];
    /** What a void run is due to: the generator's own limit, or programs besides it and the master. */
    voidCause?: VoidCause;
    /** The share of the machine's CPU time that such programs took: 0 to 1. */
    otherShare?: number;
    agents?: AgentReport[];
  };
  /** The scenario's own figures, with the unit in each name. */
  figures: Record<string, number>;
  /** Intervals of 95 % of fitted figures, such as slopes, by the figure's name. */
  intervals?: Record<string, { low: number; high: number }>;
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

/** `unknown`: a master that runs already, of which the bench saw no more than its ports. */
export type MasterKind = "saltworks" | "salt" | "floor" | "unknown";

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

/** One rate of a sweep; of repeats the medians. Percentiles of too few samples are left out. */
export type CurveRate = {
  rate: number;
  /** Operations of the class that were answered a second. */
  perSecond: number;
  p50Us?: number;
  p99Us?: number;
  p999Us?: number;
  /** Answered operations; of repeats the fewest. */
  samples: number;
  /** Over all classes of the point. Undefined: the bench could not see the master's CPU time. */
  cpuUsPerOperation?: number;
  isVoid: boolean;
  /** Whether 98 % of the planned rate was answered. */
  isReached: boolean;
};

export type CurveLine = {
  master: Pick<RunResult["master"], "kind" | "version">;
  /** The point of the scenario. */
  label: string;
  operation: string;
  /** Ascending. */
  rates: CurveRate[];
  /** The largest rate before latency leaves its floor. `isLast`: no higher rate was measured. Undefined if fewer than three rates can be judged. */
  knee?: { rate: number; p99Us: number; floorUs: number; isLast: boolean };
};

/** Latency under load. `key`: the parameter that was swept. */
export type Curve = { key: string; lines: CurveLine[] };

export type RunResult = {
  schema: typeof resultSchema;
  /** ISO 8601, UTC. */
  startedAt: string;
  tool: { version: string; commit: string };
  machine: MachineFingerprint;
  scenario: {
    name: string;
    version: number;
    question: string;
    parameters: Record<string, ParameterValue>;
    /** The text of a workload file. */
    source?: string;
  };
  master: {
    kind: MasterKind;
    version: string;
    /** As the bench gave it; empty for a master that ran already. */
    config: Record<string, unknown>;
    /** As our running master has them: the ones that decide cost and all that differ from their defaults. */
    settings?: Record<string, unknown>;
    /** Of a master that ran already: `host:request port`. */
    address?: string;
    /** Of a cluster: how many members, and the version of their nats-servers. */
    cluster?: { members: number; natsServer: string };
  };
  points: Point[];
  comparisons?: Comparison[];
  /** Other masters that were measured in turns with this one, under the same load. */
  peers?: { master: RunResult["master"]; points: Point[] }[];
  /** Conditions of `--fail-if`, judged on each point of ours. `observed`: in the condition's `unit`. */
  thresholds?: { text: string; label: string; observed: number; unit: string; isCrossed: boolean }[];
  /** Of a sweep over a rate. */
  curve?: Curve;
  /** The tuner's result: master configuration as text of a `master.d` file, and remarks on how far to trust it. */
  advice?: { masterConfig: string; remarks: string[] };
};
