/** A result as text for the terminal: one line for each class of operation, then the scenario's own figures and the faults. */
import { formatMs, formatNumber } from "../report/format.ts";
import { masterName, operationsOf, type Run, runsOf } from "../report/runs.ts";
import { hasSpending, spendingCells, spendingHeadings } from "../report/spending.ts";
import type { Comparison, RunResult } from "../results/schema.ts";
import { textTable } from "./text-table.ts";

export function resultText(result: RunResult): string {
  const runs = runsOf(result);
  const { scenario, master, machine } = result;
  const parts = [
    `${scenario.name}: ${scenario.question}\n${masterName(master)}, ${machine.cores} cores of ${machine.cpu}, Node.js ${machine.node}\n`,
    operationsText(runs),
    spendingText(runs),
    figuresText(runs),
    (result.comparisons ?? []).map(comparisonText).join(""),
    faultsText(runs),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

function operationsText(runs: readonly Run[]): string {
  const headings = ["run", "operation", "answered", "per s", "p50 ms", "p99 ms", "max ms", "late", "CPU µs/op"];
  const rows = runs.flatMap(({ title, point }) =>
    operationsOf(point).map(([name, { completed, perSecond, percentilesUs, late }], index) => [
      index === 0 ? title : "",
      name,
      formatNumber(completed),
      formatNumber(perSecond),
      ...[percentilesUs.p50, percentilesUs.p99, percentilesUs.max].map(formatMs),
      formatNumber(late),
      // All classes share this figure, so it is printed once.
      index === 0 ? formatNumber(point.cpu.usPerOperation) : "",
    ]),
  );
  return textTable(headings, rows);
}

/** Results of earlier versions have none of it. */
function spendingText(runs: readonly Run[]): string {
  const known = runs.filter(({ point }) => hasSpending(point));
  if (known.length === 0) return "";
  return textTable(
    ["run", ...spendingHeadings],
    known.map((run) => [run.title, ...spendingCells(run)]),
  );
}

/** Repeats of one run share a column with their median. Their spread is in the lines above and in the result. */
function figuresText(runs: readonly Run[]): string {
  const names = [...new Set(runs.flatMap(({ point }) => Object.keys(point.figures)))];
  if (names.length === 0) return "";
  const groups = new Map<string, Run[]>();
  for (const run of runs) groups.set(run.name, [...(groups.get(run.name) ?? []), run]);
  const headings = [...groups].map(([name, members]) => {
    const isAlone = groups.size === 1 && members.length === 1;
    return isAlone ? "" : members.length === 1 ? name : `${name}, median of ${members.length}`;
  });
  const rows = names.map((figure) => [
    figure,
    ...[...groups.values()].map((members) => medianText(members.flatMap(({ point }) => point.figures[figure] ?? []))),
  ]);
  return textTable(["figure", ...headings], rows);
}

function medianText(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted[Math.ceil(sorted.length / 2) - 1];
  return middle === undefined ? "" : formatNumber(middle);
}

/** The verdicts "less" and "more" appear only if the interval excludes 1. */
function comparisonText({ name, baseline, candidate, ratio, low, high, repeats, verdict }: Comparison): string {
  const way = ratio < 1 ? `${formatNumber(1 / ratio)} times less` : `${formatNumber(ratio)} times`;
  const range = `ratio ${formatNumber(ratio)}, 95 %: ${formatNumber(low)} to ${formatNumber(high)}, ${repeats} rounds`;
  return `${name}: ${candidate} needs ${way}${ratio < 1 ? " than" : " what"} ${baseline}${ratio < 1 ? "" : " needs"} (${range}); verdict: ${verdict}\n`;
}

function faultsText(runs: readonly Run[]): string {
  const lines = runs.flatMap(({ title, point: { correctness, generator } }) => {
    const errors = Object.entries(correctness.errors).filter(([, count]) => count > 0);
    return [
      ...(correctness.missing > 0 ? [`${title}: ${correctness.missing} of ${correctness.expected} are missing\n`] : []),
      ...errors.map(([name, count]) => `${title}: ${name}: ${formatNumber(count)}\n`),
      // The title says that it is void.
      ...(generator.isVoid ? [`${title}: ${generator.voidReasons.join("; ")}\n`] : []),
    ];
  });
  return lines.join("");
}
