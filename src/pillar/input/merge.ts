/** Merges pillars: maps key by key, other values replace, lists are joined only on request. Source: Salt's `recurse` strategy, observed. */
import { type Item, isEqual } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";

/** Values of `above` win. Changes neither map. */
export function merged(below: ValueMap, above: ValueMap, joinsLists: boolean): ValueMap {
  const result: ValueMap = new Map(below);
  for (const [key, value] of above) {
    const present = result.get(key);
    result.set(key, present === undefined ? value : mergedValue(present, value, joinsLists));
  }
  return result;
}

function mergedValue(below: Value, above: Value, joinsLists: boolean): Value {
  if (below instanceof Map && above instanceof Map) return merged(below, above, joinsLists);
  if (!joinsLists || !Array.isArray(below) || !Array.isArray(above)) return above;
  return joinedLists(below, above);
}

/** Appends members of the second that the first does not have; keeps repeats within each. */
export function joinedLists<Member extends Item>(first: readonly Member[], second: readonly Member[]): Member[] {
  return [...first, ...second.filter((item) => !first.some((other) => isEqual(other, item)))];
}
