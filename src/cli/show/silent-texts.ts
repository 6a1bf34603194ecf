/** Texts in place of a missing return. Source: docs/compatibility.md, messages for silent minions. */

const noResponse = "No response";

/** `reason`: the job tracker's. Names without an accepted key count as `No response`. */
export function silentText(reason: string, jid: string): string {
  const head = `Minion did not return. [${reason}]`;
  return reason === noResponse ? `${head}\n${lateReturnsText(jid)}` : head;
}

/** A line of `-v` and `--summary` on standard error, because Salt's own text knows only two kinds of silence. */
export function reasonLine(id: string, reason: string): string {
  return `${id} did not return: ${reason}\n`;
}

export function unknownNameText(jid: string): string {
  return silentText(noResponse, jid);
}

/** Names the command in Salt's words, because scripts look for them. `saltworks run jobs.lookup_jid` does the same. */
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
