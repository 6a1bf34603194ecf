/** Joins what several sources of `master_tops` found. */
import { isEqual } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";

/**
 * Puts the states of `others` before those of the same environment, each once. As in Salt, the site's own sources come first, because its loader
 * finds them first.
 */
export function addTops(states: ValueMap, others: Value): void {
  if (!(others instanceof Map)) return;
  for (const [environment, names] of others) {
    const own = Array.isArray(names) ? names : [];
    const present = states.get(environment);
    const after = (Array.isArray(present) ? present : []).filter((name) => !own.some((known) => isEqual(known, name)));
    states.set(environment, [...own, ...after]);
  }
}
