/**
 * Merges pillars by the strategies of `pillar_source_merging_strategy`. `recurse`: maps key by key; lists are joined on request; any other
 * value replaces the old one. Source: Salt 3007's `utils/dictupdate.py`, observed.
 */
import { type Item, isEqual } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { aggregated } from "./aggregate.ts";

/** Returns a new map with `above` merged over `below`. */
export type Merge = (below: ValueMap, above: ValueMap) => ValueMap;

/** The strategies' names, as in Salt. */
export const mergeStrategies = ["smart", "recurse", "aggregate", "overwrite", "list", "none"] as const;
export type MergeStrategy = (typeof mergeStrategies)[number];

/** `renderer`: `smart` aggregates if the pipe ends in YAMLEX. */
export function mergeBy(strategy: MergeStrategy, renderer: string, joinsLists: boolean): Merge {
  switch (strategy) {
    case "aggregate":
      return (below, above) => aggregated(below, above, 1) as ValueMap;
    case "list":
      return paired;
    case "overwrite":
      return (below, above) => new Map([...below, ...above]);
    case "none":
      return (below, above) => merged(below, above, false);
    case "recurse":
      return (below, above) => merged(below, above, joinsLists);
    case "smart":
      return mergeBy(isYamlex(renderer) ? "aggregate" : "recurse", renderer, joinsLists);
  }
}

function isYamlex(renderer: string): boolean {
  return renderer.split("|").at(-1) === "yamlex" || renderer.startsWith("yamlex_");
}

/** Strategy `list`: a list of both values where both maps have a key. As in Salt, keys that only `above` has are lost. */
function paired(below: ValueMap, above: ValueMap): ValueMap {
  return new Map(
    Array.from(below, ([key, value]): [Value, Value] => [
      key,
      above.has(key) ? [value, above.get(key) ?? null] : value,
    ]),
  );
}

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
