/**
 * Merges pillars: maps key by key; lists are joined on request; any other value replaces the old one.
 * Source: Salt's `recurse` strategy, observed.
 */
import { type Item, isEqual } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";

/** A new map with `above` merged over `below`. */
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

/** Appends the members of `second` that `first` does not have. Keeps repeats within each list. */
export function joinedLists<Member extends Item>(first: readonly Member[], second: readonly Member[]): Member[] {
  return [...first, ...second.filter((item) => !first.some((other) => isEqual(other, item)))];
}
