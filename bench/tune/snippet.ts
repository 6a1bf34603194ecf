/** The tuner's settings as a file for `master.d`: YAML with the reason for each value above it. Pure. */
import { formatMebibytes, formatNumber } from "../report/format.ts";
import type { RunResult } from "../results/schema.ts";
import { type Choice, isDecided, percent } from "./choose.ts";
import type { RateSearch } from "./search.ts";
import type { SettingName } from "./settings.ts";

export type Advice = {
  readonly choices: ReadonlyMap<SettingName, Choice>;
  readonly search: RateSearch | undefined;
  readonly p99MsMax: number;
  /** Remarks on how far to trust the settings. */
  readonly remarks: readonly string[];
};

const columnsMax = 110;

/** @returns text that ends in a line break */
export function snippetText(
  result: Pick<RunResult, "machine" | "startedAt" | "tool" | "scenario">,
  advice: Advice,
): string {
  const { machine, tool, startedAt, scenario } = result;
  const { minions, returnBytes } = scenario.parameters;
  const head = [
    `Written by saltworks tune ${tool.version}, ${startedAt}, for this machine:`,
    `${machine.cores} cores of ${machine.cpu}, ${formatMebibytes(machine.memoryBytes)} MiB, Node.js ${machine.node}.`,
    `Load: return storms of ${minions} simulated minions, return size ${returnBytes}.`,
    ...(advice.search === undefined ? [] : [searchText(advice.search, advice.p99MsMax)]),
    ...advice.remarks,
  ];
  const settings = [...advice.choices].map(([name, choice]) => `\n${settingText(name, choice)}`);
  return `${head.map(commented).join("")}${settings.join("")}`;
}

/** What the runs do not decide is a comment, so that the master keeps its default. */
function settingText(name: SettingName, choice: Choice): string {
  const { value, reason, trust, spread = 0 } = choice;
  if (isDecided(choice)) return `${commented(`${reason} (trust: ${trust})`)}${name}: ${value}\n`;
  const doubt = `Not decided: repeats of one value differ by ${percent(spread)}.`;
  return `${commented(`${reason} ${doubt}`)}# ${name}: ${value}\n`;
}

export function searchText(search: RateSearch, p99MsMax: number): string {
  const { rate, p99Ms, failedRate, limit } = search;
  if (rate === undefined) {
    return limit === "generator"
      ? "No rate could be judged: the load generator was the limit at each that was tried, or other programs took the machine."
      : `No rate kept the 99th percentile below ${p99MsMax} ms; the lowest that was tried is ${formatNumber(failedRate ?? 0)} returns/s.`;
  }
  const met = `${formatNumber(rate)} returns/s keep the 99th percentile (${formatNumber(p99Ms ?? 0)} ms) below ${p99MsMax} ms`;
  if (limit === "generator")
    return `${met}; above that the load generator was the limit, or other programs took the machine, so the master may carry more.`;
  if (failedRate === undefined)
    return `${met}; no rate that was tried missed it, so the master may carry more${earlyText(search)}.`;
  return `${met}; ${formatNumber(failedRate)} do not${earlyText(search)}.`;
}

function earlyText({ isComplete, isUsedUp, measurements }: RateSearch): string {
  if (isComplete) return "";
  return isUsedUp
    ? ` (the search ended early: all ${measurements} measurements that it may make were used up)`
    : ` (the search ended early, after ${measurements} measurement${measurements === 1 ? "" : "s"})`;
}

/** Escapes text so that it stays within its comment. */
function commented(text: string): string {
  const lines: string[] = [];
  let line = "#";
  for (const word of text.split(/\s+/)) {
    if (line.length + 1 + word.length > columnsMax && line !== "#") {
      lines.push(line);
      line = "#";
    }
    line += ` ${word}`;
  }
  return [...lines, line].map((each) => `${each}\n`).join("");
}
