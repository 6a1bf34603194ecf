/** Whether the machine is quiet enough to measure on: looks at what other programs take, then refuses, or asks on a terminal. */
import { setTimeout as wait } from "node:timers/promises";
import type { Host } from "../../src/cli/host/host.ts";
import { machineTimes, otherShareBetween, otherShareMax } from "../machine-load.ts";

/** Ticks of /proc/stat are 10 ms, so that two seconds of two cores show half a percent. */
const lookMs = 2_000;

export type MachineLook = { readonly otherShare: number; readonly isRefused: boolean };

/** `isAllowed`: a busy machine was accepted beforehand. `look` is replaced by tests. */
export async function lookAtMachine(
  host: Pick<Host, "complain" | "isInputTerminal" | "errorTerminal" | "readLine">,
  isAllowed: boolean,
  look: () => Promise<number> = otherShareNow,
): Promise<MachineLook> {
  const otherShare = await look();
  if (otherShare <= otherShareMax) return { otherShare, isRefused: false };
  const found = `Other programs take ${percent(otherShare)} of this machine's CPU time, more than ${percent(otherShareMax)} (otherShareMax): settings that are found now may be wrong.`;
  if (isAllowed) {
    host.complain(`${found} Going on, as --on-busy-machine says.\n`);
    return { otherShare, isRefused: false };
  }
  if (!host.isInputTerminal || host.errorTerminal === undefined) {
    host.complain(`${found} Refused: run it when the machine is quiet, or give --on-busy-machine.\n`);
    return { otherShare, isRefused: true };
  }
  host.complain(`${found}\nTune all the same? [y/N] `);
  const isAccepted = /^\s*y(?:es)?\s*$/i.test((await host.readLine()) ?? "");
  if (!isAccepted) host.complain("Nothing was started. --on-busy-machine says yes beforehand.\n");
  return { otherShare, isRefused: !isAccepted };
}

async function otherShareNow(): Promise<number> {
  const before = machineTimes();
  await wait(lookMs);
  return otherShareBetween(before, machineTimes());
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
