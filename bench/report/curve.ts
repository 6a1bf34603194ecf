/** Latency under load in words and rows, for the terminal and the page: rate, percentiles, CPU, and where the knee is. Pure. */
import { kneeFactor, reachedShareMin } from "../results/curve.ts";
import { isRough } from "../results/percentiles.ts";
import type { Curve, CurveLine, CurveRate } from "../results/schema.ts";
import { formatMs, formatNumber, notSeen, tooFewSamples } from "./format.ts";
import type { LinePlot } from "./line-plot.ts";
import { masterName } from "./runs.ts";

const percentiles = [
  ["p50", "p50Us", "p50"],
  ["p99", "p99Us", "p99"],
  ["p99.9", "p999Us", "p999"],
] as const;

export function curveHeadings(key: string): string[] {
  return [key, "answered/s", ...percentiles.map(([name]) => `${name} ms`), "CPU µs/op", ""];
}

/** Cells of one rate, in the order of `curveHeadings`. */
export function curveCells(line: CurveLine, rate: CurveRate): string[] {
  const latencies = percentiles.map(([, name, percentile]) => {
    const us = rate[name];
    if (us === undefined) return tooFewSamples(rate.samples);
    return isRough({ completed: rate.samples }, percentile) ? `≈ ${formatMs(us)}` : formatMs(us);
  });
  const numbers = [rate.rate, rate.perSecond].map(formatNumber);
  const cpu = rate.cpuUsPerOperation === undefined ? notSeen : formatNumber(rate.cpuUsPerOperation);
  return [...numbers, ...latencies, cpu, remarkOn(line, rate)];
}

function remarkOn({ knee }: CurveLine, { rate, isVoid, isReached }: CurveRate): string {
  if (isVoid) return "void";
  if (!isReached) return "not reached";
  if (knee === undefined || rate < knee.rate) return "";
  if (rate > knee.rate) return "beyond the knee";
  return knee.isLast ? "" : "knee";
}

/** `masters`: how many the curve has. */
export function curveTitle({ master, label, operation }: CurveLine, masters: number): string {
  const side = masters > 1 ? [masterName({ ...master, config: {} })] : [];
  return [...side, ...(label === "" ? [] : [label]), operation].join(": ");
}

export function mastersOf({ lines }: Curve): number {
  return new Set(lines.map(({ master }) => `${master.kind} ${master.version}`)).size;
}

export function kneeSentence({ knee, operation }: CurveLine, key: string): string {
  if (knee === undefined) return `No knee of ${operation}: fewer than three rates can be judged.`;
  const [rate, p99, floor] = [formatNumber(knee.rate), formatMs(knee.p99Us), formatMs(knee.floorUs)];
  if (knee.isLast)
    return `No knee of ${operation} up to ${key}=${rate}: there its p99 is ${p99} ms, at most ${kneeFactor} times the lowest (${floor} ms). Higher rates may be served as well.`;
  return `Knee of ${operation}: ${key}=${rate}, with a p99 of ${p99} ms. Above it the p99 is over ${kneeFactor} times the lowest (${floor} ms), or less than ${reachedShareMin * 100} % of the rate was answered, or the run was void.`;
}

/** Without lines of which all rates are void. */
export function curvePlots({ key, ...curve }: Curve): LinePlot[] {
  const masters = mastersOf({ key, ...curve });
  const plots = curve.lines.map((line) => {
    const valid = line.rates.filter(({ isVoid }) => !isVoid);
    const lines = percentiles.map(([name, of]) => {
      const known = valid.flatMap((rate) => (rate[of] === undefined ? [] : [[rate.rate, rate[of] / 1_000] as const]));
      return { name, x: known.map(([x]) => x), y: known.map(([, y]) => y) };
    });
    const isMarked = line.knee !== undefined && !line.knee.isLast;
    return {
      title: curveTitle(line, masters),
      ...{ xLabel: key, yLabel: "ms", isTime: false, isLog: true },
      lines: lines.filter(({ x }) => x.length > 0),
      ...(isMarked && { mark: { x: line.knee?.rate ?? 0, label: "knee" } }),
    };
  });
  return plots.filter(({ lines }) => lines.length > 0);
}
