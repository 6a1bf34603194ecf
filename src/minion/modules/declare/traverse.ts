/** Looks up `key:key:key` in nested maps and lists, as Salt does for `grains.get`, `pillar.get` and `config.get`. */

import { strOf } from "../../../python/repr.ts";
import { isEqual } from "../../../python/values.ts";
import { wordValue } from "../../../python/word.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";

export const defaultDelimiter = ":";

/** @returns the value, which may be null; undefined if the path does not exist */
export function traverse(data: Value, key: Value, delimiter = defaultDelimiter): Value | undefined {
  let value: Value | undefined = data;
  for (const step of stepsOf(key, delimiter)) {
    if (Array.isArray(value)) value = memberOfList(value, step);
    else if (value instanceof Map) value = memberOfMap(value, step);
    else return undefined;
    if (value === undefined) return undefined;
  }
  return value;
}

/** The value, which may be null; `fallback` if the path does not exist. */
export function traverseOr(data: Value, key: Value, fallback: Value, delimiter = defaultDelimiter): Value {
  const found = traverse(data, key, delimiter);
  return found === undefined ? fallback : found;
}

function stepsOf(key: Value, delimiter: string): readonly Value[] {
  if (Array.isArray(key)) return key;
  return typeof key === "string" ? key.split(delimiter) : [key];
}

/** Looks up the key as text, then as the number or boolean that YAML reads in it. */
function memberOfMap(map: ValueMap, key: Value): Value | undefined {
  const found = mapGet(map, key);
  if (found !== undefined || typeof key !== "string") return found;
  const typed = wordValue(key);
  return typed === key ? undefined : mapGet(map, typed);
}

/** Returns the value of `key` in the first map of the list that has it. If no map has a whole number, it is an index into the list. */
function memberOfList(list: readonly Value[], key: Value): Value | undefined {
  const text = strOf(key).trim();
  const index = /^[-+]?\d+$/.test(text) ? Number(text) : undefined;
  for (const member of list) {
    const found = member instanceof Map ? mapGet(member, index ?? key) : undefined;
    if (found !== undefined) return found;
  }
  return index === undefined ? undefined : list.at(index);
}

/** Python's `map[key]`: 1, 1.0 and True are the same key. */
export function mapGet(map: ValueMap, key: Value): Value | undefined {
  const found = map.get(key);
  if (found !== undefined || typeof key === "string" || key === null) return found;
  for (const [candidate, value] of map) if (isEqual(candidate, key)) return value;
  return undefined;
}
