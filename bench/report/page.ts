/** One result as a page: its plots and tables, what a reader needs first on top. */
import type { RunResult } from "../results/schema.ts";
import { describeFit } from "../tune/trust.ts";
import { curveSection } from "./curve-section.ts";
import { chosen, documentHtml, section } from "./document.ts";
import { escapeHtml } from "./format.ts";
import { headFacts } from "./head-facts.ts";
import { type PageData, plotData, scalingFits } from "./plot-data.ts";
import { masterName, operationsOf, type Run, runsOf, voidCauseText } from "./runs.ts";
import { cpuBars } from "./stacked-bars.ts";
import {
  agentsTable,
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
  const header = `<h1>${escapeHtml(name)} <small class="about">version ${escapeHtml(String(version))}</small></h1>
<p class="question">${escapeHtml(result.scenario.question)}</p>
<p class="about">${escapeHtml(summaryOf(result))}</p>
${factsHtml(result)}`;
  const body = `${voidNotice(runs)}
${sections(result, runs, data).join("\n")}`;
  return documentHtml({ title: `${name} – ${masterName(result.master)}`, header, body, data });
}

function summaryOf({ master, peers = [], machine, startedAt }: RunResult): string {
  const names = [master, ...peers.map((peer) => peer.master)].map(masterName).join(" and ");
  const day = startedAt.replace("T", " ").replace(/(?:\.\d+)?Z$/, " UTC");
  return `${names}, on ${machine.cores} cores of ${machine.cpu}, Node.js ${machine.node}, ${day}`;
}

/** The load and the settings that a reader needs to know what the figures are of. */
function factsHtml(result: RunResult): string {
  const facts = headFacts(result).map(([name, text]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(text)}</dd>`);
  return `<dl class="facts">${facts.join("")}</dl>`;
}

function voidNotice(runs: readonly Run[]): string {
  const voids = runs.filter(({ point }) => point.generator.isVoid);
  if (voids.length === 0) return "";
  const reasons = voids.map(({ title, point }) => `${title}: ${point.generator.voidReasons.join("; ")}`);
  const more = reasons.length > voidsShown ? [`and ${reasons.length - voidsShown} more, in the generator's table`] : [];
  const items = [...reasons.slice(0, voidsShown), ...more].map((reason) => `<li>${escapeHtml(reason)}</li>`);
  return `<div class="void"><p>${voids.length} of ${runs.length} runs ${voids.length === 1 ? "is" : "are"} void: ${escapeHtml(voidCauseText(runs.map(({ point }) => point)))}. Do not read them as the master's figures.</p><ul>${items.join("")}</ul></div>`;
}

function sections(result: RunResult, runs: readonly Run[], data: PageData): string[] {
  const { advice, comparisons = [], scenario, master } = result;
  return [
    advice === undefined ? "" : adviceSection(advice),
    comparisons.length === 0 ? "" : section("comparisons", "Beside each other", comparisonsTable(comparisons), "wide"),
    data.scaling === undefined ? "" : scalingSection(result, runs),
    result.curve === undefined ? "" : curveSection(result.curve),
    section("operations", "Operations", operationsTable(runs), "wide"),
    chosen("latency", "Latency by percentile", data.latency),
    section("cpu", `CPU by thread, µs per ${cpuUnit(runs)}`, cpuBars(runs)),
    section("cost", "Cost", costTable(runs), "wide"),
    section("spending", "Disk and network", spendingTable(runs), "wide"),
    section("figures", "Figures", figuresTable(runs, "measured"), "wide"),
    chosen("series", "Over time", data.series),
    section("correctness", "Correctness: every job and minion", correctnessTable(runs), "wide"),
    section("load", "How the load was made", figuresTable(runs, "load"), "wide"),
    section("generator", "The load generator's check of itself", generatorTable(runs) + agentsTable(runs), "wide"),
    `<div class="pair">${section("machine", "Machine", machineTable(result))}${section("parameters", "Parameters of the scenario", valuesTable(scenario.parameters))}</div>`,
    section("settings", `Settings of the master as it ran (${masterName(master)})`, valuesTable(master.settings ?? {})),
    section("config", `Configuration that the master was given (${masterName(master)})`, valuesTable(master.config)),
  ];
}

/** An idle master has no operations; its CPU is divided by the minions. */
function cpuUnit(runs: readonly Run[]): string {
  return runs.some(({ point }) => operationsOf(point).length > 0) ? "operation" : "minion";
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
