/** Joins what several sources of `master_tops` found. */
import { isEqual } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";

/** Adds the states of `others` to those of the same environment, each once, as Salt does. */
export function addTops(states: ValueMap, others: Value): void {
  if (!(others instanceof Map)) return;
  for (const [environment, names] of others) {
    const present = states.get(environment);
    const before = Array.isArray(present) ? present : [];
    const added = (Array.isArray(names) ? names : []).filter((name) => !before.some((known) => isEqual(known, name)));
    states.set(environment, [...before, ...added]);
  }
}
