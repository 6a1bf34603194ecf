/** Merges nested maps (Salt's `dictupdate`), and selects an entry of a map by a grain or other fact (`filter_by`). */

import { compileGlob } from "../../../python/fnmatch.ts";
import { strOf } from "../../../python/repr.ts";
import { contains, isTrue } from "../../../python/values.ts";
import { copyOf, type Value, type ValueMap } from "../../../wire/values.ts";
import { pythonException } from "../../functions/errors.ts";
import { traverseOr } from "./traverse.ts";

/** A copy of `base` with `over` merged into it: merges maps in maps, replaces anything else, joins lists with `mergesLists`. */
export function mergedMaps(base: ValueMap, over: ValueMap, mergesLists = false): ValueMap {
  const result = copyOf(base);
  for (const [key, value] of over) {
    const present = result.get(key);
    if (present instanceof Map && value instanceof Map) result.set(key, mergedMaps(present, value, mergesLists));
    else if (mergesLists && Array.isArray(present) && Array.isArray(value)) {
      result.set(key, [...present, ...value.filter((member) => !contains(present, member))]);
    } else result.set(key, copyOf(value));
  }
  return result;
}

export type FilterOptions = {
  readonly merge: Value;
  readonly default: Value;
  readonly base: Value;
};

/** The entry of `table` whose key (a text or a glob) matches the fact named `lookup`. Null if neither a key nor the default matches. */
export function filterBy(table: Value, lookup: Value, facts: ValueMap, options: FilterOptions): Value {
  if (!(table instanceof Map)) {
    throw pythonException("AttributeError", `'${strOf(table)}' is not a dictionary`);
  }
  let result = firstSuiting(table, traverseOr(facts, lookup, [])) ?? table.get(options.default) ?? null;
  const base = isTrue(options.base) ? table.get(options.base) : undefined;
  if (base !== undefined) {
    if (result === null) result = base;
    else if (base instanceof Map) {
      if (!(result instanceof Map)) {
        throw pythonException("SaltException", "filter_by default and look-up values must both be dictionaries.");
      }
      result = mergedMaps(base, result);
    }
  }
  if (!isTrue(options.merge)) return result;
  if (!(options.merge instanceof Map)) {
    throw pythonException("SaltException", "filter_by merge argument must be a dictionary.");
  }
  return result instanceof Map ? mergedMaps(result, options.merge) : options.merge;
}

function firstSuiting(table: ValueMap, fact: Value): Value | undefined {
  for (const member of Array.isArray(fact) ? fact : [fact]) {
    const text = strOf(member);
    for (const [key, value] of table) {
      const pattern = strOf(key);
      if ((text === pattern || compileGlob(pattern).matches(text)) && value !== null) return value;
    }
  }
  return undefined;
}
