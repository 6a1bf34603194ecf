/** Texts in place of a missing return. Source: docs/compatibility.md, "Life of a job". */

const noResponse = "No response";

/** `reason`: the job tracker's. Ids without an accepted key have the reason `No response`. */
export function silentText(reason: string, jid: string): string {
  const head = `Minion did not return. [${reason}]`;
  return reason === noResponse ? `${head}\n${lateReturnsText(jid)}` : head;
}

/** A line that `-v` and `--summary` write to standard error: the master's reason, because Salt's text has only two reasons. */
export function reasonLine(id: string, reason: string): string {
  return `${id} did not return: ${reason}\n`;
}

export function unknownNameText(jid: string): string {
  return silentText(noResponse, jid);
}

/** Salt's sentence, unchanged because scripts search for it. `saltworks run jobs.lookup_jid` does the same as the command in it. */
export function lateReturnsText(jid: string): string {
  return `The minions may not have all finished running and any remaining minions will return upon completion. To look up the return data for this job later, run the following command:\n\nsalt-run jobs.lookup_jid ${jid}`;
}

export type Silence = "not connected" | "not responding";

/** The kind of silence behind a shown value; undefined for a return. */
export function silenceOf(value: unknown): Silence | undefined {
  if (typeof value !== "string" || !value.startsWith("Minion did not return")) return undefined;
  return value.includes("Not connected") ? "not connected" : "not responding";
}

/** Whether the shown text names the command that looks the return up later. */
export function namesLookup(value: unknown): boolean {
  return typeof value === "string" && value.includes("salt-run jobs.lookup_jid");
}
