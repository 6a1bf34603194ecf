/** `saltworks bench compare`: two results side by side, with differences and their confidence. */
import type { Host } from "../../src/cli/host/host.ts";
import { SaltworksError } from "../../src/errors.ts";
import { type Difference, differences, refusals, warnings } from "../report/compare.ts";
import { explanations } from "../report/explanation.ts";
import { formatChange, formatNumber } from "../report/format.ts";
import { readResult } from "../results/files.ts";
import { textTable } from "./text-table.ts";

export type CompareOptions = { readonly isForced: boolean; readonly isJson: boolean };

/** @returns the exit code */
export function compareFiles(paths: readonly string[], { isForced, isJson }: CompareOptions, host: Host): number {
  const [first, second, ...others] = paths;
  if (first === undefined || second === undefined || others.length > 0) {
    throw new SaltworksError("USAGE", "compare takes two result files");
  }
  const [before, after] = [readResult(first), readResult(second)];
  const faults = refusals(before, after);
  if (faults.length > 0 && !isForced) {
    const list = faults.map((fault) => `\n  ${fault}`).join("");
    throw new SaltworksError("USAGE", `these results do not compare (--force shows them all the same):${list}`);
  }
  for (const warning of [...faults, ...warnings(before, after)]) host.complain(`Note: ${warning}\n`);
  const found = differences(before, after);
  const sentences = explanations(before, after, found).map((sentence) => `\n${sentence}\n`);
  host.write(isJson ? `${JSON.stringify(found)}\n` : `${differencesText(found)}${sentences.join("")}`);
  return 0;
}

function differencesText(found: readonly Difference[]): string {
  if (found.length === 0) return "The results have no figure in common.\n";
  const rows = found.map(({ label, name, before, after, ratio, interval, runs, verdict }) => [
    `${label}: ${name}`,
    formatNumber(before),
    formatNumber(after),
    ratio === undefined ? "–" : formatChange(ratio),
    interval === undefined ? "–" : `${formatChange(interval.low)} to ${formatChange(interval.high)}`,
    runs.join("/"),
    verdict,
  ]);
  return textTable(["figure", "first", "second", "change", "interval of 95 %", "runs", "verdict"], rows);
}
