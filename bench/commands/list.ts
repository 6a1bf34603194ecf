/** `saltworks bench --list`: the scenarios, each with its question and parameters. */
import { formatValue } from "../report/format.ts";
import { scenarios } from "../scenarios/registry.ts";

export function scenarioList(): string {
  return scenarios
    .map(({ name, version, question, defaults, about }) => {
      const lines = Object.entries(defaults).map(
        ([key, value]) => `    ${key}=${formatValue(value)}  ${about[key] ?? ""}\n`,
      );
      return `${name} (version ${version})\n  ${question}\n${lines.join("")}`;
    })
    .join("\n");
}
