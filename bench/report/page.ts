/** One result as a single HTML file with its plots, tables, styles and script, so that it opens from a disk. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageRoot } from "../../src/config/host/program.ts";
import type { RunResult } from "../results/schema.ts";
import { describeFit } from "../tune/trust.ts";
import { escapeHtml } from "./format.ts";
import { type PageData, plotData, scalingFits } from "./plot-data.ts";
import { masterName, type Run, runsOf } from "./runs.ts";
import { cpuBars } from "./stacked-bars.ts";
import {
  comparisonsTable,
  correctnessTable,
  costTable,
  figuresTable,
  generatorTable,
  machineTable,
  operationsTable,
  spendingTable,
  valuesTable,
} from "./tables.ts";

/** Void runs that are listed at the top; the generator's table has all. */
const voidsShown = 4;

export function reportHtml(result: RunResult): string {
  const runs = runsOf(result);
  const data = plotData(result, runs);
  const { name, version } = result.scenario;
  const title = `${name} – ${masterName(result.master)}`;
  const uplotStyle = fileURLToPath(import.meta.resolve("uplot/dist/uPlot.min.css"));
  const uplotScript = fileURLToPath(import.meta.resolve("uplot/dist/uPlot.iife.min.js"));
  const styles = [uplotStyle, ownFile("browser.css")].map(textOf).join("\n");
  const scripts = [uplotScript, ownFile("browser.js")].map(textOf);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${styles}</style>
</head>
<body>
<header>
<h1>${escapeHtml(name)} <small class="about">version ${escapeHtml(String(version))}</small></h1>
<p class="question">${escapeHtml(result.scenario.question)}</p>
<p class="about">${escapeHtml(summaryOf(result))}</p>
</header>
${voidNotice(runs)}
${sections(result, runs, data).join("\n")}
<script id="data" type="application/json">${scriptSafe(JSON.stringify(data))}</script>
${scripts.map((script) => `<script>${script}</script>`).join("\n")}
</body>
</html>
`;
}

function textOf(path: string): string {
  return readFileSync(path, "utf8");
}

/** Read from the sources, because the compiler copies only programs. */
function ownFile(name: string): string {
  return join(packageRoot(), "bench", "report", name);
}

/** JSON within a script element, escaped so that it cannot hold the element's end. */
function scriptSafe(json: string): string {
  return json.replaceAll("<", "\\u003c").replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

function summaryOf({ master, peers = [], machine, startedAt }: RunResult): string {
  const names = [master, ...peers.map((peer) => peer.master)].map(masterName).join(" and ");
  const day = startedAt.replace("T", " ").replace(/(?:\.\d+)?Z$/, " UTC");
  return `${names}, on ${machine.cores} cores of ${machine.cpu}, Node.js ${machine.node}, ${day}`;
}

function voidNotice(runs: readonly Run[]): string {
  const voids = runs.filter(({ point }) => point.generator.isVoid);
  if (voids.length === 0) return "";
  const reasons = voids.map(({ title, point }) => `${title}: ${point.generator.voidReasons.join("; ")}`);
  const more = reasons.length > voidsShown ? [`and ${reasons.length - voidsShown} more, in the generator's table`] : [];
  const items = [...reasons.slice(0, voidsShown), ...more].map((reason) => `<li>${escapeHtml(reason)}</li>`);
  return `<div class="void"><p>${voids.length} of ${runs.length} runs ${voids.length === 1 ? "is" : "are"} void: there the load generator was the limit, not the master. Do not read them as the master's figures.</p><ul>${items.join("")}</ul></div>`;
}

function sections(result: RunResult, runs: readonly Run[], data: PageData): string[] {
  const { advice, comparisons = [], scenario, master } = result;
  return [
    advice === undefined ? "" : adviceSection(advice),
    comparisons.length === 0 ? "" : section("comparisons", "Beside each other", comparisonsTable(comparisons), "wide"),
    data.scaling === undefined ? "" : scalingSection(result, runs),
    section("operations", "Operations", operationsTable(runs), "wide"),
    chosen("latency", "Latency by percentile", data.latency),
    section("cpu", "CPU by thread, µs per operation", cpuBars(runs)),
    section("cost", "Cost", costTable(runs), "wide"),
    section("spending", "Disk and network", spendingTable(runs), "wide"),
    section("figures", "Figures", figuresTable(runs), "wide"),
    chosen("series", "Over time", data.series),
    section("correctness", "Correctness: every job and minion", correctnessTable(runs), "wide"),
    section("generator", "The load generator's check of itself", generatorTable(runs), "wide"),
    `<div class="pair">${section("machine", "Machine", machineTable(result))}${section("parameters", "Parameters of the scenario", valuesTable(scenario.parameters))}</div>`,
    section("config", `Configuration of the master (${masterName(master)})`, valuesTable(master.config)),
  ];
}

function section(id: string, heading: string, content: string, className = ""): string {
  if (content === "") return "";
  return `<section id="${id}" class="${className}"><h2>${escapeHtml(heading)}</h2>${content}</section>`;
}

/** Shows one plot at a time, with a menu above it if there are several. */
function chosen(id: string, heading: string, plots: readonly { readonly title: string }[]): string {
  if (plots.length === 0) return "";
  const options = plots.map(({ title }) => `<option>${escapeHtml(title)}</option>`);
  const choice = plots.length < 2 ? "" : `<select aria-label="run">${options.join("")}</select>`;
  return section(id, heading, `${choice}<div class="place plot"></div>`);
}

function scalingSection(result: RunResult, runs: readonly Run[]): string {
  const notes = scalingFits(runs).map(({ master, points, fit }) => {
    const words = describeFit(fit, points, result.machine.cores).join(" ");
    return `<p class="note">${escapeHtml(`${masterName(master)}: ${words}`)}</p>`;
  });
  return section("scaling", "Throughput by worker_threads", `<div class="place plot"></div>${notes.join("")}`);
}

function adviceSection({ masterConfig, remarks }: NonNullable<RunResult["advice"]>): string {
  const items = remarks.map((remark) => `<li>${escapeHtml(remark)}</li>`);
  return section(
    "advice",
    "Settings for this machine",
    `<pre>${escapeHtml(masterConfig)}</pre><ul>${items.join("")}</ul>`,
  );
}
