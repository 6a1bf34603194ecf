/** `saltworks bench compare`: two results side by side, with differences and their confidence. */
import type { Host } from "../../src/cli/host/host.ts";
import { SaltworksError } from "../../src/errors.ts";
import { type Difference, differences, refusals, type Withheld, warnings, withheldIn } from "../report/compare.ts";
import { explanations } from "../report/explanation.ts";
import { formatChange, formatNumber, tooFewSamples } from "../report/format.ts";
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
  const withheld = withheldIn(before, after);
  const found = differences(before, after);
  const sentences = explanations(before, after, found).map((sentence) => `\n${sentence}\n`);
  host.write(isJson ? `${JSON.stringify(found)}\n` : `${differencesText(found, withheld)}${sentences.join("")}`);
  return 0;
}

function differencesText(found: readonly Difference[], withheld: readonly Withheld[]): string {
  if (found.length + withheld.length === 0) return "The results have no figure in common.\n";
  const differing = found.map(({ label, name, before, after, ratio, interval, runs, verdict }) => [
    `${label}: ${name}`,
    formatNumber(before),
    formatNumber(after),
    ratio === undefined ? "–" : formatChange(ratio),
    interval === undefined ? "–" : `${formatChange(interval.low)} to ${formatChange(interval.high)}`,
    runs.join("/"),
    verdict,
  ]);
  const missing = withheld.map(({ label, name, samples }) => [
    `${label}: ${name}`,
    ...samples.map(tooFewSamples),
    ...["–", "–", "", "no verdict"],
  ]);
  const rows = [...differing, ...missing];
  return textTable(["figure", "first", "second", "change", "interval of 95 %", "runs", "verdict"], rows);
}
