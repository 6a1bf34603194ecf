/**
 * Merges the files of source `stack`. A map's key `__`, or a first list item `{__: ...}`, names how it merges.
 * Source: Salt 3007's module `pillar/stack.py`, observed.
 */
import { strOf } from "../../python/repr.ts";
import { isEqual } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { sourceFault } from "../input/source-fault.ts";

const mark = "__";
const strategies = ["overwrite", "merge-first", "merge-last", "remove"];

function checked(strategy: Value): Value {
  if (typeof strategy === "string" && strategies.includes(strategy)) return strategy;
  const known = strategies.map((name) => `'${name}'`).join(", ");
  throw sourceFault(`Unknown strategy "${strOf(strategy)}", should be one of (${known})`);
}

function hasMark(list: readonly Value[]): boolean {
  const [first] = list;
  return first instanceof Map && first.has(mark);
}

/** Without the marks of a map and of what lies in it. */
function clean(value: Value): Value {
  if (value instanceof Map)
    return new Map(
      [...value].filter(([key]) => key !== mark).map(([key, member]): [Value, Value] => [key, clean(member)]),
    );
  // As in Salt, marks of maps inside a list stay.
  return Array.isArray(value) && hasMark(value) ? value.slice(1) : value;
}

/** `above` merged into `below`, as the key `__` of `above` says. */
export function stackMerged(below: ValueMap, above: ValueMap): ValueMap {
  const strategy = checked(above.get(mark) ?? "merge-last");
  if (strategy === "overwrite") return clean(above) as ValueMap;
  const result: ValueMap = new Map(below);
  for (const [key, value] of above) {
    if (key === mark) continue;
    if (strategy === "remove") result.delete(key);
    else result.set(key, result.has(key) ? mergedMember(result.get(key) ?? null, value, strategy) : clean(value));
  }
  return result;
}

function mergedMember(below: Value, above: Value, strategy: Value): Value {
  const [low, high] = strategy === "merge-first" ? [clean(above), below] : [below, above];
  if (low instanceof Map && high instanceof Map) return stackMerged(low, high);
  if (Array.isArray(low) && Array.isArray(high)) return mergedLists(low, high);
  return clean(high);
}

function mergedLists(below: readonly Value[], above: readonly Value[]): Value[] {
  const [first] = above;
  const strategy = checked(first instanceof Map && first.has(mark) ? (first.get(mark) ?? null) : "merge-last");
  const items = hasMark(above) ? above.slice(1) : above;
  switch (strategy) {
    case "overwrite":
      return [...items];
    case "remove":
      return below.filter((item) => !items.some((other) => isEqual(item, other)));
    case "merge-first":
      return [...items, ...below];
    default:
      return [...below, ...items];
  }
}
