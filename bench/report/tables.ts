/** The report's tables: figures, correctness, the generator's check of itself, comparisons, machine and configuration. All text is escaped here. */
import { percentileNames } from "../results/percentiles.ts";
import type { Comparison, RunResult } from "../results/schema.ts";
import {
  escapeHtml,
  formatFigure,
  formatMebibytes,
  formatNumber,
  formatPercentileMs,
  formatValue,
  notSeen,
  percentileNote,
} from "./format.ts";
import { agentCells, agentHead, figureNamesOf, operationsOf, type Run } from "./runs.ts";
import { hasSpending, spendingCells, spendingHeadings } from "./spending.ts";

type Cell = string | number | { readonly text: string; readonly className: string };

/** Numbers are aligned right; a text that contains one is given as `{ text, className: "number" }`. */
function cellHtml(cell: Cell): string {
  if (typeof cell === "number") return `<td class="number">${escapeHtml(formatNumber(cell))}</td>`;
  if (typeof cell === "string") return `<td>${escapeHtml(cell)}</td>`;
  return `<td class="${escapeHtml(cell.className)}">${escapeHtml(cell.text)}</td>`;
}

export function right(text: string, className = ""): Cell {
  return { text, className: `number ${className}`.trim() };
}

type Row = { readonly head: string; readonly cells: readonly Cell[] };

export function tableHtml(headings: readonly string[], rows: readonly Row[]): string {
  const [first = "", ...others] = headings;
  const isNumber = (index: number): boolean => {
    const cell = rows[0]?.cells[index];
    return typeof cell === "number" || (typeof cell === "object" && cell.className.startsWith("number"));
  };
  const head = others.map((text, index) => `<th${isNumber(index) ? ' class="number"' : ""}>${escapeHtml(text)}</th>`);
  const body = rows.map(
    ({ head: name, cells }) => `<tr><th>${escapeHtml(name)}</th>${cells.map(cellHtml).join("")}</tr>`,
  );
  const top = headings.length === 0 ? "" : `<thead><tr><th>${escapeHtml(first)}</th>${head.join("")}</tr></thead>`;
  return `<div class="scroll"><table>${top}<tbody>${body.join("")}</tbody></table></div>`;
}

/** One row for each class of operation of each run. */
export function operationsTable(runs: readonly Run[]): string {
  if (runs.every(({ point }) => operationsOf(point).length === 0)) return "";
  const headings = [
    "run",
    "operation",
    "completed",
    "per second",
    "p50 ms",
    "p90 ms",
    "p99 ms",
    "p99.9 ms",
    "max ms",
    "failed",
    "timed out",
    "late",
  ];
  const rows = runs.flatMap(({ title, point }) =>
    operationsOf(point).map(([name, operation], index) => {
      const latencies = percentileNames.map((percentile) => right(formatPercentileMs(operation, percentile)));
      const faults = [operation.failed, operation.timedOut].map((count) =>
        right(formatNumber(count), count > 0 ? "bad" : ""),
      );
      return {
        head: index === 0 ? title : "",
        cells: [name, operation.completed, operation.perSecond, ...latencies, ...faults, operation.late],
      };
    }),
  );
  return `${tableHtml(headings, rows)}<p class="note">${escapeHtml(percentileNote)}</p>`;
}

export function costTable(runs: readonly Run[]): string {
  const rows = runs.map(({ title, point: { cpu, isUsageUnknown, memory, wallMs } }) => {
    const seen = (text: string): Cell => right(isUsageUnknown === true ? notSeen : text);
    return {
      head: title,
      cells: [
        seen(formatNumber(cpu.usPerOperation)),
        seen(formatNumber(cpu.totalMs / 1_000)),
        wallMs / 1_000,
        seen(formatMebibytes(memory.rssBytes)),
        seen(formatMebibytes(memory.peakRssBytes)),
      ],
    };
  });
  return tableHtml(["run", "CPU µs / operation", "CPU s", "span s", "memory MiB", "peak MiB"], rows);
}

/** Results of earlier versions have none of it. */
export function spendingTable(runs: readonly Run[]): string {
  const known = runs.filter(({ point }) => hasSpending(point));
  if (known.length === 0) return "";
  const rows = known.map((run) => ({ head: run.title, cells: spendingCells(run).map((text) => right(text)) }));
  return tableHtml(["run", ...spendingHeadings], rows);
}

/** The scenario's own figures, a column each, because each has its unit in its name. */
export function figuresTable(runs: readonly Run[], kind: "measured" | "load"): string {
  const names = figureNamesOf(runs, kind);
  if (names.length === 0) return "";
  // With few runs and many figures, the table is easier to read transposed.
  if (names.length > runs.length) {
    const rows = names.map((name) => ({
      head: name,
      cells: runs.map(({ point }) => right(formatFigure(point, name) ?? "–")),
    }));
    return tableHtml(["figure", ...runs.map(({ title }) => title)], rows);
  }
  const rows = runs.map(({ title, point }) => ({
    head: title,
    cells: names.map((name) => right(formatFigure(point, name) ?? "–")),
  }));
  return tableHtml(["run", ...names], rows);
}

export function correctnessTable(runs: readonly Run[]): string {
  const rows = runs.map(({ title, point: { correctness } }) => {
    const { expected, accounted, missing, duplicates, errors } = correctness;
    const told = Object.entries(errors).map(([name, count]) => `${name}: ${formatNumber(count)}`);
    const isWhole = missing === 0 && told.length === 0;
    return {
      head: title,
      cells: [
        expected,
        accounted,
        right(formatNumber(missing), missing > 0 ? "bad" : ""),
        duplicates,
        { text: isWhole ? "all accounted for" : told.join(", ") || "missing", className: isWhole ? "good" : "bad" },
      ],
    };
  });
  return tableHtml(["run", "expected", "accounted for", "missing", "duplicates", ""], rows);
}

export function generatorTable(runs: readonly Run[]): string {
  const rows = runs.map(({ title, point: { generator } }) => ({
    head: title,
    cells: [
      right(`${Math.round(generator.cpuShare * 100)} %`),
      generator.loopDelayP99Ms,
      generator.lateSends,
      right(generator.otherShare === undefined ? "–" : `${Math.round(generator.otherShare * 100)} %`),
      generator.isVoid
        ? { text: `void: ${generator.voidReasons.join("; ")}`, className: "bad" }
        : { text: "kept up", className: "good" },
    ],
  }));
  return tableHtml(["run", "CPU share", "loop delay p99 ms", "late sends", "other programs", "verdict"], rows);
}

/** The hosts that generated the load, if agents did; else nothing. */
export function agentsTable(runs: readonly Run[]): string {
  const rows = runs.flatMap(({ title, point }) =>
    (point.generator.agents ?? []).map((agent) => {
      const [host = "", minions = "", cores = "", cpu = "", clock = ""] = agentCells(agent);
      return { head: title, cells: [host, right(minions), cores, right(cpu), right(clock)] };
    }),
  );
  return rows.length === 0 ? "" : tableHtml(agentHead, rows);
}

export function comparisonsTable(comparisons: readonly Comparison[]): string {
  const verdicts = { less: "good", more: "bad", "no verdict": "" } as const;
  const rows = comparisons.map(({ name, baseline, candidate, ratio, low, high, repeats, verdict }) => ({
    head: name,
    cells: [
      `${candidate} to ${baseline}`,
      ratio,
      right(`${formatNumber(low)} to ${formatNumber(high)}`),
      // Shows the ratio in the direction in which it is above 1.
      right(ratio < 1 ? `${formatNumber(1 / ratio)} times less` : `${formatNumber(ratio)} times`),
      repeats,
      { text: verdict, className: verdicts[verdict] },
    ],
  }));
  return tableHtml(["cost", "of", "ratio", "interval of 95 %", "", "rounds", "verdict"], rows);
}

export function machineTable({ machine, tool, startedAt }: RunResult): string {
  const facts: readonly (readonly [string, string])[] = [
    ["processor", machine.cpu],
    ["cores", String(machine.cores)],
    ["memory", `${formatMebibytes(machine.memoryBytes)} MiB`],
    ["kernel", machine.kernel],
    ["Node.js", machine.node],
    ["load average at the start", formatNumber(machine.loadAverage)],
    ["measured by", `saltworks ${tool.version}, commit ${tool.commit}`],
    ["started", startedAt],
  ];
  return tableHtml(
    [],
    facts.map(([head, text]) => ({ head, cells: [text] })),
  );
}

export function valuesTable(values: Readonly<Record<string, unknown>>): string {
  const rows = Object.entries(values).map(([head, value]) => ({ head, cells: [formatValue(value)] }));
  return rows.length === 0 ? "" : tableHtml([], rows);
}
