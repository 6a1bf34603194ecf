/** The order in which old rows leave Salt's tables, and a place in it as a text. */
import { afterTimes } from "./reader.ts";

/** In this order. `named`: returns of jobs whose ids are not times. `jobs`: jobs without a return, which Salt keeps forever. */
const phases = ["returns", "named", "jobs", "events"] as const;
export type Phase = (typeof phases)[number];
/** `after`: the last job id, or the last id of an event, that was looked at. */
export type Place = { readonly phase: Phase; readonly after: string };

/** The start if there is no text. */
export function placeIn(text: string | undefined): Place {
  const phase = phases.find((each) => text?.startsWith(`${each}:`) === true);
  return phase === undefined ? startOf("returns") : { phase, after: text?.slice(phase.length + 1) ?? "" };
}

function startOf(phase: Phase): Place {
  return { phase, after: phase === "named" ? afterTimes : phase === "events" ? "0" : "" };
}

export function followingPhase(phase: Phase): Place | undefined {
  const following = phases[phases.indexOf(phase) + 1];
  return following === undefined ? undefined : startOf(following);
}

export function textOf({ phase, after }: Place): string {
  return `${phase}:${after}`;
}
