/** The data of the page's plots as plain numbers: scaling with its curve, latency percentiles, and values over time. */
import { LatencyHistogram } from "../load/histogram.ts";
import type { Point, RunResult } from "../results/schema.ts";
import { fitUsl, predictPerSecond, type ScalingPoint, type UslFit } from "../tune/usl.ts";
import { curvePlots } from "./curve.ts";
import type { LinePlot } from "./line-plot.ts";
import { masterName, operationsOf, type Run } from "./runs.ts";

export type ScalingPlot = {
  readonly cores: number;
  readonly sides: readonly {
    readonly name: string;
    readonly measured: readonly (readonly [workers: number, perSecond: number])[];
    readonly curve: readonly (readonly [workers: number, perSecond: number])[];
  }[];
};

export type LatencyLine = {
  readonly name: string;
  /** Rarity: one in this number of operations is slower, 1 / (1 − percentile). */
  readonly oneIn: readonly number[];
  readonly ms: readonly number[];
};

/** `from`: where latency counts from, for the axis. */
export type LatencyPlot = { readonly title: string; readonly from: string; readonly lines: readonly LatencyLine[] };

export type SeriesPlot = {
  readonly title: string;
  readonly atMs: readonly number[];
  readonly values: Readonly<Record<string, readonly number[]>>;
};

/** The page offers plots with a menu by title, in this order. */
export type PageData = {
  readonly scaling: ScalingPlot | undefined;
  readonly latency: readonly LatencyPlot[];
  readonly series: readonly SeriesPlot[];
  readonly curve: readonly LinePlot[];
};

export type ScalingFit = {
  readonly master: RunResult["master"];
  readonly points: readonly ScalingPoint[];
  readonly fit: UslFit;
};

const curveSteps = 60;
/** The number of the page's colours. */
const linesTogetherMax = 8;
/** Points of a percentile line for each factor of ten of rarity. */
const linePointsPerDecade = 12;

export function plotData(result: RunResult, runs: readonly Run[]): PageData {
  const fits = scalingFits(runs);
  return {
    scaling: fits.length === 0 ? undefined : scalingPlot(fits, result.machine.cores),
    latency: latencyPlots(runs),
    series: runs
      .map(({ title, point: { series } }) => ({ title, ...series }))
      .filter(({ atMs, values }) => atMs.length > 1 && Object.keys(values).length > 0),
    curve: result.curve === undefined ? [] : curvePlots(result.curve),
  };
}

/** Before the plots of each run, one with all runs, repeats taken together, so that ours and a peer's can be compared. */
function latencyPlots(runs: readonly Run[]): LatencyPlot[] {
  const together = new Map<string, LatencyHistogram>();
  const plots: LatencyPlot[] = [];
  for (const { name, title, point } of runs) {
    const decoded = operationsOf(point).map(([operation, { histogram }]) => ({
      operation,
      latencies: LatencyHistogram.decode(histogram),
    }));
    const lines = decoded.flatMap(({ operation, latencies }) => latencyLine(operation, latencies) ?? []);
    if (lines.length > 0) plots.push({ title, from: startOf([point]), lines });
    for (const { operation, latencies } of decoded) {
      const key = `${name}: ${operation}`;
      const sum = together.get(key) ?? new LatencyHistogram();
      sum.add(latencies);
      together.set(key, sum);
    }
  }
  const all = [...together].flatMap(([name, latencies]) => latencyLine(name, latencies) ?? []);
  const isLegible = plots.length > 1 && all.length <= linesTogetherMax;
  return isLegible
    ? [{ title: "all runs, repeats together", from: startOf(runs.map(({ point }) => point)), lines: all }, ...plots]
    : plots;
}

/** Only an open loop has planned times. Results of earlier releases do not say which loop they had. */
function startOf(points: readonly Point[]): string {
  const loops = new Set(points.flatMap((point) => operationsOf(point).map(([, { loop }]) => loop)));
  const [loop] = loops;
  if (loops.size !== 1 || loop === undefined) return "";
  return loop === "open" ? " from the planned time" : " from sending";
}

/** One plot for each master that was measured with several numbers of workers and otherwise equal settings. */
export function scalingFits(runs: readonly Run[]): ScalingFit[] {
  const byMaster = new Map<string, { master: RunResult["master"]; points: ScalingPoint[] }>();
  for (const { master, point } of runs) {
    const workers = point.parameters.worker_threads;
    // The tuner's other steps change other settings, and a void point says nothing about the master.
    if (typeof workers !== "number" || (point.parameters.step ?? "workers") !== "workers" || point.generator.isVoid)
      continue;
    const name = masterName(master);
    const side = byMaster.get(name) ?? { master, points: [] };
    const [first] = operationsOf(point);
    side.points.push({ workers, perSecond: first?.[1].perSecond ?? 0 });
    byMaster.set(name, side);
  }
  return [...byMaster.values()].flatMap(({ master, points }) => {
    const fit = fitUsl(points);
    return fit === undefined ? [] : [{ master, points, fit }];
  });
}

function scalingPlot(fits: readonly ScalingFit[], cores: number): ScalingPlot {
  const workersMax = Math.max(...fits.flatMap(({ points }) => points.map(({ workers }) => workers)));
  // Slightly beyond the measured range, to show the trend of the curve.
  const end = workersMax * 1.25;
  const sides = fits.map(({ master, points, fit }) => ({
    name: masterName(master),
    measured: points.map(({ workers, perSecond }) => [workers, perSecond] as const),
    curve: Array.from({ length: curveSteps + 1 }, (_, step) => {
      const workers = 1 + ((end - 1) * step) / curveSteps;
      return [workers, predictPerSecond(fit, workers)] as const;
    }),
  }));
  return { cores, sides };
}

/** @returns undefined for a histogram without values */
function latencyLine(name: string, latencies: LatencyHistogram): LatencyLine | undefined {
  if (latencies.count === 0) return undefined;
  const oneIn: number[] = [];
  // Not rarer than the number of operations allows.
  const last = Math.ceil(linePointsPerDecade * Math.log10(Math.max(2, latencies.count)));
  for (let step = 0; step <= last; step += 1) oneIn.push(10 ** (step / linePointsPerDecade));
  return { name, oneIn, ms: oneIn.map((rarity) => latencies.atUs(100 * (1 - 1 / rarity)) / 1_000) };
}
