/** Compares two results of one scenario figure by figure, with an interval if both were repeated. Pure. */
import { studentQuantile } from "../peers/bootstrap.ts";
import { percentileNames, samplesNeeded } from "../results/percentiles.ts";
import type { Point, RunResult } from "../results/schema.ts";
import { conditionIn, conditionsOf, differingConditions } from "./conditions.ts";
import { formatValue } from "./format.ts";
import { masterName, operationsOf } from "./runs.ts";

export type Difference = {
  /** The label of the compared points. */
  readonly label: string;
  readonly name: string;
  /** Geometric means over the repeats; plain means if a value is not above zero. */
  readonly before: number;
  readonly after: number;
  /** The ratio of after to before; undefined if either is zero. */
  readonly ratio: number | undefined;
  /** Welch's interval of 95 % of the ratio; only if both sides have two or more repeats. */
  readonly interval: { readonly low: number; readonly high: number } | undefined;
  readonly runs: readonly [before: number, after: number];
  readonly verdict: "less" | "more" | "no verdict";
};

/** The reasons why two results answer different questions; empty if they can be compared. */
export function refusals(before: RunResult, after: RunResult): string[] {
  if (before.scenario.name !== after.scenario.name) {
    return [`the scenarios differ: ${before.scenario.name} and ${after.scenario.name}`];
  }
  const { name, version } = before.scenario;
  const found: string[] = [];
  if (version !== after.scenario.version) {
    found.push(`the versions of ${name} differ: ${version} and ${after.scenario.version}`);
  }
  const [left, right] = [before.scenario.parameters, after.scenario.parameters];
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    if (left[key] === right[key]) continue;
    found.push(
      `the parameter ${key} differs: ${formatValue(left[key] ?? "none")} and ${formatValue(right[key] ?? "none")}`,
    );
  }
  const [was, is] = [conditionsOf(before), conditionsOf(after)];
  for (const condition of differingConditions([was, is]))
    found.push(`the ${condition} differs: ${conditionIn(was, condition)} and ${conditionIn(is, condition)}`);
  return found;
}

/** Remarks that a reader needs beside the differences. */
export function warnings(before: RunResult, after: RunResult): string[] {
  const found: string[] = [];
  for (const key of ["cpu", "cores", "node", "kernel"] as const) {
    const [left, right] = [before.machine[key], after.machine[key]];
    if (left !== right) found.push(`the machines differ in ${key}: ${left} and ${right}`);
  }
  const [left, right] = [masterName(before.master), masterName(after.master)];
  if (left !== right) found.push(`the masters differ: ${left} and ${right}`);
  for (const [name, { points }] of [
    ["first", before],
    ["second", after],
  ] as const) {
    const voids = points.filter(({ generator }) => generator.isVoid).length;
    if (voids > 0) found.push(`${voids} of ${points.length} runs of the ${name} result are void and left out`);
  }
  return found;
}

/** Leaves out void runs, and percentiles of too few samples. Points are matched by label; repeats are taken together. */
export function differences(before: RunResult, after: RunResult): Difference[] {
  const withheld = new Set(withheldIn(before, after).map(({ label, name }) => `${label}: ${name}`));
  const [left, right] = [byLabel(before), byLabel(after)];
  return [...left].flatMap(([label, points]) => {
    const others = right.get(label);
    if (others === undefined) return [];
    const [was, is] = [valuesOf(points), valuesOf(others)];
    return [...was].flatMap(([name, values]) => {
      const now = is.get(name);
      return now === undefined || withheld.has(`${label}: ${name}`) ? [] : [difference(label, name, values, now)];
    });
  });
}

function byLabel({ points }: RunResult): Map<string, Point[]> {
  const groups = new Map<string, Point[]>();
  for (const point of points) {
    if (point.generator.isVoid) continue;
    groups.set(point.label, [...(groups.get(point.label) ?? []), point]);
  }
  return groups;
}

/** Every figure of the points by name, with one value for each point. */
function valuesOf(points: readonly Point[]): Map<string, number[]> {
  const values = new Map<string, number[]>();
  const add = (name: string, value: number): void => {
    values.set(name, [...(values.get(name) ?? []), value]);
  };
  for (const point of points) {
    for (const [name, { percentilesUs, perSecond, failed, timedOut }] of operationsOf(point)) {
      for (const [percentile, us] of Object.entries(percentilesUs)) add(`${name} ${percentile} ms`, us / 1_000);
      add(`${name} per second`, perSecond);
      add(`${name} failed or timed out`, failed + timedOut);
    }
    if (point.isUsageUnknown !== true) {
      add("CPU µs per operation", point.cpu.usPerOperation);
      add("memory MiB", point.memory.rssBytes / 1_048_576);
    }
    for (const [name, value] of Object.entries(point.figures)) add(name, value);
  }
  return values;
}

/** A percentile that one result, or both, has too few samples for. `samples`: the fewest of its runs. */
export type Withheld = {
  readonly label: string;
  readonly name: string;
  readonly samples: readonly [before: number, after: number];
};

/** The percentiles that `differences` leaves out. */
export function withheldIn(before: RunResult, after: RunResult): Withheld[] {
  const [left, right] = [byLabel(before), byLabel(after)];
  return [...left].flatMap(([label, points]) => {
    const others = right.get(label) ?? [];
    const names = new Set(points.flatMap((point) => operationsOf(point).map(([name]) => name)));
    return [...names].flatMap((name) => {
      const [was, is] = [fewestSamples(points, name), fewestSamples(others, name)];
      if (was === undefined || is === undefined) return [];
      return percentileNames
        .filter((percentile) => Math.min(was, is) < samplesNeeded(percentile))
        .map((percentile) => ({ label, name: `${name} ${percentile} ms`, samples: [was, is] as const }));
    });
  });
}

function fewestSamples(points: readonly Point[], name: string): number | undefined {
  const counts = points.flatMap(({ operations }) => operations[name]?.completed ?? []);
  return counts.length === 0 ? undefined : Math.min(...counts);
}

function difference(label: string, name: string, was: readonly number[], is: readonly number[]): Difference {
  const runs = [was.length, is.length] as const;
  if ([...was, ...is].some((value) => !(value > 0))) {
    const [before, after] = [mean(was), mean(is)];
    return { label, name, before, after, ratio: undefined, interval: undefined, runs, verdict: "no verdict" };
  }
  const [left, right] = [was.map(Math.log), is.map(Math.log)];
  const shift = mean(right) - mean(left);
  const base = {
    label,
    name,
    before: Math.exp(mean(left)),
    after: Math.exp(mean(right)),
    ratio: Math.exp(shift),
    runs,
  };
  if (was.length < 2 || is.length < 2) return { ...base, interval: undefined, verdict: "no verdict" };
  const reach = welchReach(left, right);
  const interval = { low: Math.exp(shift - reach), high: Math.exp(shift + reach) };
  const verdict = interval.high < 1 ? "less" : interval.low > 1 ? "more" : "no verdict";
  return { ...base, interval, verdict };
}

/** Half the interval of the difference of the means, for unequal variances (Welch, Satterthwaite). */
function welchReach(left: readonly number[], right: readonly number[]): number {
  const [a, b] = [variance(left) / left.length, variance(right) / right.length];
  if (a + b === 0) return 0;
  const freedom = (a + b) ** 2 / (a ** 2 / (left.length - 1) + b ** 2 / (right.length - 1));
  return studentQuantile(Math.max(1, Math.floor(freedom))) * Math.sqrt(a + b);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function variance(values: readonly number[]): number {
  const middle = mean(values);
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
}
