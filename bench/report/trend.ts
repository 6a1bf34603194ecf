/** Many results of one scenario over time: rows, lines for each machine and load, and what changed from the first to the last. Pure. */
import { percentileUs } from "../results/percentiles.ts";
import type { Point, RunResult } from "../results/schema.ts";
import { conditionIn, conditionsOf, differingConditions } from "./conditions.ts";
import { formatChange, formatMebibytes, formatNumber, formatValue } from "./format.ts";
import type { LinePlot } from "./line-plot.ts";
import { masterName } from "./runs.ts";

export type TrendFile = { readonly path: string; readonly result: RunResult };

/** Figures of one label of one result: means over its valid repeats. Percentiles of too few samples are absent. */
export type TrendRow = {
  readonly startedAt: string;
  readonly commit: string;
  /** A letter, for `machines`. */
  readonly machine: string;
  /** Rows with the same series are values of one line: master, machine, parameters, workload file, settings and point are the same. */
  readonly series: string;
  readonly figures: Readonly<Record<string, number>>;
  readonly path: string;
};

export type Trend = {
  readonly scenario: { readonly name: string; readonly version: number };
  /** By letter. */
  readonly machines: Readonly<Record<string, string>>;
  /** By time. */
  readonly rows: readonly TrendRow[];
  /** Sentences. */
  readonly changes: readonly string[];
  /** Results that are left out, with the reason. */
  readonly leftOut: readonly string[];
};

/** Smaller steps are what repeats differ by. */
const notableStep = 1.05;

/** Of the scenario that most results are of. @returns undefined without a result that can be used */
export function trendOf(files: readonly TrendFile[]): Trend | undefined {
  const byScenario = groupedBy(files, ({ result: { scenario } }) => `${scenario.name} version ${scenario.version}`);
  const [most] = [...byScenario].sort(([, a], [, b]) => b.length - a.length);
  if (most === undefined) return undefined;
  const [name, own] = most;
  const sorted = own.toSorted((a, b) => a.result.startedAt.localeCompare(b.result.startedAt));
  const [first] = sorted;
  if (first === undefined) return undefined;
  const machines = lettersOf(sorted.map(({ result }) => machineName(result)));
  const results = sorted.map(({ result }) => result);
  const varying = {
    parameters: varyingParameters(results),
    conditions: differingConditions(results.map(conditionsOf)),
  };
  const rows = sorted.flatMap((file) => rowsOf(file, machines.get(machineName(file.result)) ?? "", varying));
  const { scenario } = first.result;
  return {
    scenario: { name: scenario.name, version: scenario.version },
    machines: Object.fromEntries([...machines].map(([text, letter]) => [letter, text])),
    rows,
    changes: [...groupedBy(rows, ({ series }) => series)].flatMap(([series, line]) => changesOf(series, line)),
    leftOut: [
      ...files
        .filter((file) => !own.includes(file))
        .map(({ path, result }) => `${path}: it is of ${scenarioName(result)}, not of ${name}`),
      ...sorted
        .filter(({ path }) => !rows.some((row) => row.path === path))
        .map(({ path }) => `${path}: each of its runs is void`),
    ],
  };
}

function scenarioName({ scenario }: RunResult): string {
  return `${scenario.name} version ${scenario.version}`;
}

function machineName({ machine }: RunResult): string {
  return `${machine.cores} cores of ${machine.cpu}, ${formatMebibytes(machine.memoryBytes)} MiB, Node.js ${machine.node}`;
}

/** A, B, C in the order of the first use; after Z numbers. */
function lettersOf(names: readonly string[]): Map<string, string> {
  const letters = new Map<string, string>();
  for (const name of names)
    if (!letters.has(name))
      letters.set(name, letters.size < 26 ? String.fromCharCode(65 + letters.size) : String(letters.size));
  return letters;
}

function varyingParameters(results: readonly RunResult[]): string[] {
  const keys = new Set(results.flatMap(({ scenario }) => Object.keys(scenario.parameters)));
  return [...keys].filter((key) => new Set(results.map(({ scenario }) => scenario.parameters[key])).size > 1);
}

/** Names of what differs between the results: only results that agree in it are one line. */
type Varying = { readonly parameters: readonly string[]; readonly conditions: readonly string[] };

function rowsOf({ path, result }: TrendFile, machine: string, varying: Varying): TrendRow[] {
  const valid = result.points.filter(({ generator }) => !generator.isVoid);
  const conditions = conditionsOf(result);
  // A result that does not say a setting stays in the line without it.
  const under = varying.conditions.flatMap((name) => {
    const value = conditionIn(conditions, name);
    return value === undefined ? [] : [`${name}=${value}`];
  });
  const load = varying.parameters.map((key) => `${key}=${formatValue(result.scenario.parameters[key] ?? "none")}`);
  return [...groupedBy(valid, ({ label }) => label)].map(([label, points]) => ({
    ...{ startedAt: result.startedAt, commit: result.tool.commit, machine, path },
    series: [
      `machine ${machine}`,
      ...(result.master.kind === "saltworks" ? [] : [masterName(result.master)]),
      ...load,
      ...under,
      label,
    ].join(", "),
    figures: figuresOf(points),
  }));
}

function figuresOf(points: readonly Point[]): Record<string, number> {
  const figures: Record<string, number> = {};
  const add = (name: string, values: readonly number[]): void => {
    if (values.length > 0) figures[name] = values.reduce((sum, value) => sum + value, 0) / values.length;
  };
  // A mean of zeros that the bench did not see would be a claim.
  const isUsageKnown = points.every(({ isUsageUnknown }) => isUsageUnknown !== true);
  const ofUsage = isUsageKnown ? points : [];
  add(
    "CPU µs/op",
    ofUsage.map(({ cpu }) => cpu.usPerOperation),
  );
  for (const name of new Set(points.flatMap(({ operations }) => Object.keys(operations))))
    for (const percentile of ["p50", "p99"] as const) {
      const values = points.map(({ operations }) => operations[name] && percentileUs(operations[name], percentile));
      // A mean of some of the repeats would not be comparable.
      if (values.every((us) => us !== undefined))
        add(
          `${name} ${percentile} ms`,
          values.map((us) => us / 1_000),
        );
    }
  add(
    "memory MiB",
    ofUsage.map(({ memory }) => memory.rssBytes / 1_048_576),
  );
  return figures;
}

/** One sentence for each figure that both the first and the last result have. */
function changesOf(series: string, rows: readonly TrendRow[]): string[] {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined || rows.length < 2) return [];
  const told = Object.keys(first.figures).flatMap((name) => {
    const known = rows.flatMap((row) => (row.figures[name] === undefined ? [] : [{ row, value: row.figures[name] }]));
    const [was, is] = [known[0], known.at(-1)];
    if (was === undefined || is === undefined || known.length < 2 || !(was.value > 0 && is.value > 0)) return [];
    const change = `${formatNumber(was.value)} to ${formatNumber(is.value)} (${formatChange(is.value / was.value)})`;
    return [`${name} ${change}${stepText(known)}`];
  });
  if (told.length === 0) return [];
  return [`${series}: from ${dayOf(first)} (${first.commit}) to ${dayOf(last)} (${last.commit}): ${told.join("; ")}.`];
}

function stepText(known: readonly { readonly row: TrendRow; readonly value: number }[]): string {
  const steps = known.slice(1).flatMap(({ row, value }, index) => {
    const before = known[index]?.value ?? 0;
    return before > 0 && value > 0 ? [{ row, ratio: value / before }] : [];
  });
  const [largest] = steps.sort((a, b) => Math.abs(Math.log(b.ratio)) - Math.abs(Math.log(a.ratio)));
  if (largest === undefined || Math.abs(Math.log(largest.ratio)) < Math.log(notableStep))
    return ", without a step of 5 % or more";
  return `, the largest step at ${largest.row.commit} (${formatChange(largest.ratio)})`;
}

export function dayOf({ startedAt }: Pick<TrendRow, "startedAt">): string {
  return startedAt.slice(0, 16).replace("T", " ");
}

/** Names of all figures, in the order of the first use. */
export function figureNames({ rows }: Trend): string[] {
  return [...new Set(rows.flatMap(({ figures }) => Object.keys(figures)))];
}

/** A plot for each figure, with a line for each series. */
export function trendPlots(trend: Trend): LinePlot[] {
  return figureNames(trend).map((name) => {
    const lines = [...groupedBy(trend.rows, ({ series }) => series)].map(([series, rows]) => {
      const known = rows.filter(({ figures }) => figures[name] !== undefined);
      const x = known.map(({ startedAt }) => Date.parse(startedAt) / 1_000);
      return { name: series, x, y: known.map(({ figures }) => figures[name] ?? 0) };
    });
    const yLabel = / ms$/.test(name) ? "ms" : name;
    return {
      title: name,
      xLabel: "",
      yLabel,
      isTime: true,
      isLog: false,
      lines: lines.filter(({ x }) => x.length > 0),
    };
  });
}

function groupedBy<Value>(values: readonly Value[], keyOf: (value: Value) => string): Map<string, Value[]> {
  const groups = new Map<string, Value[]>();
  for (const value of values) groups.set(keyOf(value), [...(groups.get(keyOf(value)) ?? []), value]);
  return groups;
}
