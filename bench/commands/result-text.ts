/** A result as text for the terminal: one line for each class of operation, then the scenario's own figures and the faults. */
import { curveCells, curveHeadings, curveTitle, kneeSentence, mastersOf } from "../report/curve.ts";
import { formatFigure, formatNumber, formatPercentileMs, notSeen, percentileNote } from "../report/format.ts";
import { headFacts } from "../report/head-facts.ts";
import { agentCells, agentHead, figureNamesOf, masterName, operationsOf, type Run, runsOf } from "../report/runs.ts";
import { hasSpending, spendingCells, spendingHeadings } from "../report/spending.ts";
import type { Comparison, Curve, RunResult } from "../results/schema.ts";
import { textTable } from "./text-table.ts";

const shownPercentiles = ["p50", "p99", "max"] as const;

export function resultText(result: RunResult): string {
  const runs = runsOf(result);
  const { scenario, master, machine } = result;
  const parts = [
    `${scenario.name}: ${scenario.question}\n${masterName(master)}, ${master.address === undefined ? "" : "loaded from "}${machine.cores} cores of ${machine.cpu}, Node.js ${machine.node}\n${headFacts(result).map(factText).join("")}`,
    result.curve === undefined ? "" : curveText(result.curve),
    operationsText(runs),
    spendingText(runs),
    figuresText(runs, "measured"),
    figuresText(runs, "load"),
    agentsText(runs),
    (result.comparisons ?? []).map(comparisonText).join(""),
    faultsText(runs),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

const columnsMax = 110;

/** "load: minions=200, rate=500" over several lines, the later ones indented. */
function factText([name, text]: readonly [name: string, text: string]): string {
  const lines: string[] = [];
  let line = `${name}:`;
  for (const word of text.split(" ")) {
    if (line.length + 1 + word.length > columnsMax) {
      lines.push(line);
      line = " ";
    }
    line += ` ${word}`;
  }
  return [...lines, line].map((each) => `${each}\n`).join("");
}

function curveText(curve: Curve): string {
  const masters = mastersOf(curve);
  const parts = curve.lines.map((line) => {
    const rows = line.rates.map((rate) => curveCells(line, rate));
    return `${curveTitle(line, masters)}\n${textTable(curveHeadings(curve.key), rows)}${kneeSentence(line, curve.key)}\n`;
  });
  return parts.join("\n");
}

function operationsText(runs: readonly Run[]): string {
  const headings = ["run", "operation", "completed", "per s", "p50 ms", "p99 ms", "max ms", "late", "CPU µs/op"];
  const rows = runs.flatMap(({ title, point }) =>
    operationsOf(point).map(([name, operation], index) => [
      index === 0 ? title : "",
      name,
      formatNumber(operation.completed),
      formatNumber(operation.perSecond),
      ...shownPercentiles.map((percentile) => formatPercentileMs(operation, percentile)),
      formatNumber(operation.late),
      // All classes share this figure, so it is printed once.
      index > 0 ? "" : point.isUsageUnknown === true ? notSeen : formatNumber(point.cpu.usPerOperation),
    ]),
  );
  if (rows.length === 0) return "";
  const isNoted = rows.some((row) => row.some((cell) => /^(?:≈|too few)/.test(cell)));
  return `${textTable(headings, rows)}${isNoted ? `${percentileNote}\n` : ""}`;
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
function figuresText(runs: readonly Run[], kind: "measured" | "load"): string {
  const names = figureNamesOf(runs, kind);
  if (names.length === 0) return "";
  const groups = new Map<string, Run[]>();
  for (const run of runs) groups.set(run.name, [...(groups.get(run.name) ?? []), run]);
  const headings = [...groups].map(([name, members]) => {
    const isAlone = groups.size === 1 && members.length === 1;
    return isAlone ? "" : members.length === 1 ? name : `${name}, median of ${members.length}`;
  });
  const rows = names.map((figure) => [figure, ...[...groups.values()].map((members) => figureText(members, figure))]);
  return textTable([kind === "load" ? "how the load was made" : "figure", ...headings], rows);
}

/** A fitted figure of one run has its interval. Of repeats, the median of the fits has none. */
function figureText(members: readonly Run[], figure: string): string {
  const [first] = members;
  if (first !== undefined && members.length === 1) return formatFigure(first.point, figure) ?? "";
  return medianText(members.flatMap(({ point }) => point.figures[figure] ?? []));
}

function medianText(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted[Math.ceil(sorted.length / 2) - 1];
  return middle === undefined ? "" : formatNumber(middle);
}

/** The hosts that generated the load, if agents did. */
function agentsText(runs: readonly Run[]): string {
  const rows = runs.flatMap(({ title, point }) =>
    (point.generator.agents ?? []).map((agent, index) => [index === 0 ? title : "", ...agentCells(agent)]),
  );
  return rows.length === 0 ? "" : textTable(agentHead, rows);
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
      ...(correctness.countedBy === "replies"
        ? [`${title}: answers are counted by the master's replies, because its job cache could not be read\n`]
        : []),
      // The title says that it is void.
      ...(generator.isVoid ? [`${title}: ${generator.voidReasons.join("; ")}\n`] : []),
    ];
  });
  return lines.join("");
}
