/** The table that `--summary` prints after the returns. Source: docs/compatibility.md, "Recorded command lines". */
import type { Value } from "../../wire/values.ts";
import { silenceOf } from "./silent-texts.ts";

export type SummaryEntry = { readonly value: Value; readonly retcode: number };

const rule = "-------------------------------------------";

export function summaryLines(entries: ReadonlyMap<string, SummaryEntry>, isVerbose: boolean): string[] {
  const notConnected: string[] = [];
  const notResponding: string[] = [];
  const failed: string[] = [];
  for (const [id, { value, retcode }] of entries) {
    const silence = silenceOf(value);
    if (silence === "not connected") notConnected.push(id);
    else if (silence === "not responding") notResponding.push(id);
    else if (retcode !== 0) failed.push(id);
  }
  const silentCount = notConnected.length + notResponding.length;
  const lines = [
    "\n",
    rule,
    "Summary",
    rule,
    `# of minions targeted: ${entries.size}`,
    `# of minions returned: ${entries.size - silentCount}`,
    `# of minions that did not return: ${silentCount}`,
    `# of minions with errors: ${failed.length}`,
  ];
  if (isVerbose) {
    if (notConnected.length > 0) lines.push(`Minions not connected: ${notConnected.join(" ")}`);
    if (notResponding.length > 0) lines.push(`Minions not responding: ${notResponding.join(" ")}`);
    if (failed.length > 0) lines.push(`Minions with failures: ${failed.join(" ")}`);
  }
  return [...lines, rule];
}
