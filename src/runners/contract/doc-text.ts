/** The documentation of runner and wheel functions as `salt-run -d` and `doc.*` show it. */
import type { RunnerFunction } from "./contract.ts";

const indent = "    ";

/** Arguments in order: required ones in capitals, others in brackets. */
export function argumentWords({ parameters, takes }: RunnerFunction): string[] {
  const words = parameters.map(({ name, isRequired }) => (isRequired ? name.toUpperCase() : `[${name}=]`));
  if (takes === "positional" || takes === "all") words.push("[argument ..]");
  if (takes === "keywords" || takes === "all") words.push("[name=value ..]");
  return words;
}

/** What the function does, and how it is called. */
export function docText(name: string, described: RunnerFunction): string {
  const synopsis = [name, ...argumentWords(described)].join(" ");
  return `\n${indent}${described.doc}\n\n${indent}Synopsis: ${synopsis}\n${indent}`;
}

/** By name, sorted. */
export function docTexts(functions: Iterable<readonly [string, RunnerFunction]>): Map<string, string> {
  const sorted = [...functions].sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(sorted.map(([name, described]) => [name, docText(name, described)]));
}

export function usageText(functions: ReadonlyMap<string, RunnerFunction>, name: string): string {
  const found = functions.get(name);
  return found === undefined ? "" : docText(name, found);
}
