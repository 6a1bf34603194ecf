/**
 * Merges as Salt's `aggregate` strategy does: values that are marked as aggregates join, other values are replaced.
 * Source: Salt 3007's `utils/aggregation.py`, observed.
 */
import { isEqual } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";

/** Maps and lists that YAMLEX marks (`!aggregate`) or that a merge has marked. A mark is not part of the value that minions get. */
const aggregates = new WeakSet<object>();

function isAggregate(value: Value): boolean {
  return typeof value === "object" && value !== null && aggregates.has(value);
}

/** A copy with the mark. A value that is neither a map nor a list becomes a list of it. */
export function asAggregate(value: Value): ValueMap | Value[] {
  const copy = value instanceof Map ? new Map(value) : Array.isArray(value) ? [...value] : [value];
  aggregates.add(copy);
  return copy;
}

function marked(value: Value): Value {
  return isAggregate(value) ? value : asAggregate(value);
}

function copyOf(map: ValueMap): ValueMap {
  const copy = new Map(map);
  if (aggregates.has(map)) aggregates.add(copy);
  return copy;
}

/** `above` merged into `below`. On the first `levels` levels every value counts as marked. */
export function aggregated(below: Value, above: Value, levels: number): Value {
  const [a, b] = levels > 0 ? [marked(below), marked(above)] : [below, above];
  if (a instanceof Map && b instanceof Map) {
    // As in Salt, if only one of two maps is marked, the lower map's other keys are lost.
    const result = copyOf(isAggregate(a) && isAggregate(b) ? a : b);
    for (const [key, value] of b)
      result.set(key, a.has(key) ? aggregated(a.get(key) ?? null, value, levels - 1) : value);
    return result;
  }
  if (Array.isArray(a) && Array.isArray(b) && isAggregate(a) && isAggregate(b))
    return asAggregate([...a, ...b.filter((item) => !a.some((present) => isEqual(present, item)))]);
  return b;
}
