/** The documentation of runner and wheel functions as `salt-run -d` and `doc.*` show it. */
import type { RunnerFunction } from "./contract.ts";

const indent = "    ";

/** What the function does, and how it is called: parameters that may be left out stand in brackets. */
export function docText(name: string, { doc, parameters, takes }: RunnerFunction): string {
  const words = parameters.map((parameter) =>
    parameter.isRequired ? parameter.name.toUpperCase() : `[${parameter.name}=]`,
  );
  if (takes === "positional" || takes === "all") words.push("[argument ..]");
  if (takes === "keywords" || takes === "all") words.push("[name=value ..]");
  return `\n${indent}${doc}\n\n${indent}Synopsis: ${[name, ...words].join(" ")}\n${indent}`;
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
