/**
 * Latency under load: what a sweep over a rate shows, as one line for each master, point of the scenario and class of operation, with its
 * knee. Pure.
 */
import { type PercentileName, percentileUs } from "./percentiles.ts";
import type { Curve, CurveLine, CurveRate, MasterKind, OperationResult, Point } from "./schema.ts";

/** The knee's p99 is at most this many times the lowest one. Up to there a rate may be raised without a price in latency. */
export const kneeFactor = 2;
/** Below this share of the planned rate a rate was not reached: operations wait for each other, and more so the longer the run. */
export const reachedShareMin = 0.98;
/** Standard deviations that random arrivals may make a rate differ from its plan by chance. */
const arrivalDeviations = 2;
/** With fewer rates neither a floor nor a bend can be seen. */
const ratesMin = 3;

/** The parameter of workloads that multiplies every rate. */
const scaleKey = "scale";
const usPerSecond = 1e6;

/** Parameters that are rates of operations, or multiply all of them. */
export function isRateKey(key: string): boolean {
  return /rate$/i.test(key) || key === scaleKey || key === "reactions";
}

/** Points of one master. `byValue`: those of each swept value, in which a label may come several times, for repeats. */
export type SweptSide = {
  readonly master: { readonly kind: MasterKind; readonly version: string };
  readonly byValue: readonly (readonly Point[])[];
};

/** @returns undefined unless `key` is a rate and has several numbers as values */
export function curveOf(key: string, values: readonly string[], sides: readonly SweptSide[]): Curve | undefined {
  const rates = values.map(Number);
  if (!isRateKey(key) || rates.length < 2 || rates.some((rate) => !(rate > 0))) return undefined;
  const lines = sides.flatMap((side) => linesOf(key, rates, side));
  return lines.length === 0 ? undefined : { key, lines };
}

function linesOf(key: string, rates: readonly number[], { master, byValue }: SweptSide): CurveLine[] {
  const named = new Map<string, { readonly place: string; readonly operation: string }>();
  for (const [index, points] of byValue.entries())
    for (const point of points)
      for (const [operation, result] of Object.entries(point.operations)) {
        if (isUnswept(key, result)) continue;
        const place = placeOf(point, rates[index] ?? 0);
        named.set(`${place}: ${operation}`, { place, operation });
      }
  return [...named.values()].map(({ place, operation }) => {
    const measured = byValue.flatMap((points, index): CurveRate[] => {
      const rate = rates[index] ?? 0;
      const own = points.filter((point) => placeOf(point, rate) === place && point.operations[operation] !== undefined);
      return own.length === 0 ? [] : [rateOf(key, rate, operation, own)];
    });
    const sorted = measured.sort((a, b) => a.rate - b.rate);
    return { master: { ...master }, label: place, operation, rates: sorted, ...kneeOf(sorted) };
  });
}

/** The point's label without the rate, which some scenarios write into it, so that it is one line over all rates. */
function placeOf({ label }: Point, rate: number): string {
  return label.replace(new RegExp(`\\b${rate} `), "").trim();
}

/** Repeats of one rate as their medians. Void ones count only if there is nothing else. */
function rateOf(key: string, rate: number, name: string, points: readonly Point[]): CurveRate {
  const valid = points.filter(({ generator }) => !generator.isVoid);
  const counted = valid.length > 0 ? valid : points;
  const operations = counted.flatMap(({ operations }) => operations[name] ?? []);
  const percentile = (of: PercentileName): number | undefined =>
    median(operations.flatMap((operation) => percentileUs(operation, of) ?? []));
  const [p50, p99, p999] = [percentile("p50"), percentile("p99"), percentile("p999")];
  const cpuUs = median(counted.flatMap(({ cpu, isUsageUnknown }) => (isUsageUnknown ? [] : [cpu.usPerOperation])));
  const perSecond = median(operations.map((operation) => operation.perSecond)) ?? 0;
  return {
    rate,
    perSecond,
    ...(p50 !== undefined && { p50Us: p50 }),
    ...(p99 !== undefined && { p99Us: p99 }),
    ...(p999 !== undefined && { p999Us: p999 }),
    samples: Math.min(...operations.map(({ completed }) => completed)),
    ...(cpuUs !== undefined && { cpuUsPerOperation: cpuUs }),
    isVoid: valid.length === 0,
    isReached: isReached(key, name, counted),
  };
}

/** Users of a closed loop call when they have an answer, however the rates are scaled. */
function isUnswept(key: string, { loop }: OperationResult): boolean {
  return key === scaleKey && loop === "closed";
}

function isReached(key: string, name: string, points: readonly Point[]): boolean {
  const shares = points.flatMap((point) => {
    const operation = point.operations[name];
    if (operation === undefined) return [];
    const completed = operation.completed / Math.max(1, operation.planned);
    if (key === scaleKey) return [completed * (1 - Math.max(...withPublishes(point, name).map(lagShare)))];
    const planned = plannedPerSecond(key, name, point);
    if (planned === undefined) return [];
    const isRandom = point.parameters.arrivals !== "constant";
    const slack = isRandom ? arrivalDeviations / Math.sqrt(Math.max(1, operation.planned)) : 0;
    return [Math.min(completed, operation.perSecond / planned + slack)];
  });
  return (median(shares) ?? 1) >= reachedShareMin;
}

/** Planned times of a job's returns count from the answer to its publish, so that publishes show how late they are. */
function withPublishes({ operations }: Point, name: string): OperationResult[] {
  return [name, `${name}: publish`].flatMap((each) => operations[each] ?? []);
}

/**
 * By which share of the time until the last reply the replies were behind their planned times. Returns of jobs are planned until long after the
 * last publish, so that the length of the stage does not say when the last one was planned; its latency does. The p99 stands for it, because it
 * is near the longest latency where all wait for each other, and one slow reply does not decide it.
 */
function lagShare(operation: OperationResult): number {
  const lagUs = percentileUs(operation, "p99");
  if (lagUs === undefined || operation.completed === 0) return 0;
  return Math.min(1, (lagUs * operation.perSecond) / operation.completed / usPerSecond);
}

/** Undefined for operations whose rate is not the swept one. */
function plannedPerSecond(key: string, name: string, point: Point): number | undefined {
  const { [key]: value } = point.parameters;
  // `returnRate` is that of "return", `rate` that of the scenario's first class.
  const stem = key.replace(/rate$/i, "").toLowerCase();
  const own = Object.keys(point.operations).find((operation) => operation.toLowerCase().startsWith(stem));
  return own === name && typeof value === "number" ? value : undefined;
}

/**
 * The largest rate before latency leaves its floor. The floor is the lowest p99 of all valid rates that were reached. From there the rates
 * are gone through upwards, until one is void, is not reached, or has a p99 above `kneeFactor` times the floor.
 */
function kneeOf(rates: readonly CurveRate[]): Pick<CurveLine, "knee"> {
  const judged = rates.filter(({ p99Us, isVoid }) => isVoid || p99Us !== undefined);
  const usable = judged.filter(({ isVoid, isReached: reached }) => !isVoid && reached);
  if (judged.length < ratesMin || usable.length === 0) return {};
  const floorUs = Math.min(...usable.map(({ p99Us = Number.POSITIVE_INFINITY }) => p99Us));
  const start = judged.findIndex((rate) => usable.includes(rate) && rate.p99Us === floorUs);
  const end = judged.findIndex(
    (rate, index) => index > start && !(usable.includes(rate) && (rate.p99Us ?? 0) <= kneeFactor * floorUs),
  );
  const knee = judged[end < 0 ? judged.length - 1 : end - 1];
  if (knee?.p99Us === undefined) return {};
  return { knee: { rate: knee.rate, p99Us: knee.p99Us, floorUs, isLast: end < 0 } };
}

/** The lower one of an even number; undefined for none. */
function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length / 2) - 1];
}
