/** `saltworks check`: reports what of a Salt site goes on, changes or ends when this master takes over. */
import { type Chapter, type Finding, type Outcome, outcomeOf, type Verdict } from "../../takeover/finding.ts";
import { takeoverReport } from "../../takeover/report.ts";
import { servedByPython } from "../../takeover/with-python.ts";
import type { Host } from "../host/host.ts";
import { understand } from "../start/command-line.ts";
import { masterConfig } from "../start/configuration.ts";

const exitCodes: Readonly<Record<Outcome, number>> = { "nothing lost": 0, lost: 1, unread: 2 };
/** The worst comes first. */
const order: readonly Verdict[] = ["lost", "unread", "changed", "kept"];
const heads: Readonly<Record<Verdict, string>> = {
  lost: "LOST    ",
  unread: "NOT READ",
  changed: "changed ",
  kept: "kept    ",
};
const closing: Readonly<Record<Outcome, string>> = {
  "nothing lost": "Nothing is lost.",
  lost: "What is LOST ends with a takeover. Keep Salt's master for it, or do without it.",
  unread: "Something could not be read, so this report does not know what becomes of it.",
};

/** @returns the exit code: 0 nothing lost, 1 something lost, 2 something not read */
export async function runCheck(argv: readonly string[], host: Host): Promise<number> {
  const { options } = understand("check", argv, host);
  const config = masterConfig(options.configDir, host);
  const report = [...takeoverReport(config, host.environment.PATH ?? "")];
  const chapters = await servedByPython(report, config, host.environment);
  const outcome = outcomeOf(chapters);
  if (options.isJson) host.write(`${JSON.stringify({ outcome, chapters }, undefined, 2)}\n`);
  else {
    for (const chapter of chapters) host.write(textOf(chapter, options.isAll));
    host.write(`\n${closing[outcome]}\n`);
  }
  return exitCodes[outcome];
}

function textOf({ subject, findings }: Chapter, isAll: boolean): string {
  const counts = order
    .map((verdict) => ({ verdict, count: findings.filter((finding) => finding.verdict === verdict).length }))
    .filter(({ count }) => count > 0)
    .map(({ verdict, count }) => `${count} ${heads[verdict].trim()}`);
  const shown = findings.filter(({ verdict }) => isAll || verdict !== "kept");
  const sorted = [...shown].sort((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
  const head = `${subject}: ${counts.length > 0 ? counts.join(", ") : "none"}\n`;
  return head + sorted.map((finding) => `  ${lineOf(finding)}\n`).join("");
}

function lineOf({ verdict, name, place, about }: Finding): string {
  return `${heads[verdict]} ${name}${place === undefined ? "" : ` (${place})`}: ${about}`;
}
