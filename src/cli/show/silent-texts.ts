/** What is shown in place of a return that did not come. Source: docs/compatibility.md, messages for silent minions. */

const noResponse = "No response";

/** `reason` as the job tracker gives it. Names without an accepted key count as `No response`. */
export function silentText(reason: string, jid: string): string {
  const head = `Minion did not return. [${reason}]`;
  return reason === noResponse ? `${head}\n${lateReturnsText(jid)}` : head;
}

/** What `-v` and `--summary` add on the error output: Salt's own text tells only two kinds of silence apart. */
export function reasonLine(id: string, reason: string): string {
  return `${id} did not return: ${reason}\n`;
}

export function unknownNameText(jid: string): string {
  return silentText(noResponse, jid);
}

/** Names the command in Salt's words, so that scripts which look for it find it; `saltworks run jobs.lookup_jid` is the same. */
export function lateReturnsText(jid: string): string {
  return `The minions may not have all finished running and any remaining minions will return upon completion. To look up the return data for this job later, run the following command:\n\nsalt-run jobs.lookup_jid ${jid}`;
}

export type Silence = "not connected" | "not responding";

/** Which silence a shown value stands for; undefined for a return. */
export function silenceOf(value: unknown): Silence | undefined {
  if (typeof value !== "string" || !value.startsWith("Minion did not return")) return undefined;
  return value.includes("Not connected") ? "not connected" : "not responding";
}

/** Whether what is shown in place of a return says with which command to look it up later. */
export function namesLookup(value: unknown): boolean {
  return typeof value === "string" && value.includes("salt-run jobs.lookup_jid");
}
