/** The order in which Python's `sorted` puts a map's keys, and when it refuses to. */

import { strOf } from "../../python/repr.ts";
import { compareText } from "../../python/text.ts";
import { Float, type Value, type ValueMap } from "../../wire/values.ts";

type Numeric = number | bigint;

function numeric(key: Value): Numeric | undefined {
  if (typeof key === "number" || typeof key === "bigint") return key;
  if (typeof key === "boolean") return key ? 1 : 0;
  return key instanceof Float ? key.value : undefined;
}

/** Entries by key; undefined where Python cannot compare the keys (text beside numbers, two nils...). */
export function sortedEntries(map: ValueMap): [Value, Value][] | undefined {
  const entries = [...map];
  if (entries.length < 2) return entries;
  if (entries.every(([key]) => typeof key === "string")) {
    return entries.sort(([left], [right]) => compareText(left as string, right as string));
  }
  if (entries.every(([key]) => numeric(key) !== undefined)) {
    return entries.sort(([left], [right]) => {
      const [a, b] = [numeric(left) ?? 0, numeric(right) ?? 0];
      return a < b ? -1 : Number(a > b);
    });
  }
  if (entries.every(([key]) => key instanceof Uint8Array)) {
    return entries.sort(([left], [right]) => Buffer.compare(left as Uint8Array, right as Uint8Array));
  }
  return undefined;
}

/** Entries by key; keys that cannot be compared become text first, of which the later wins. */
export function sortedAsText(map: ValueMap): [Value, Value][] {
  const sorted = sortedEntries(map);
  if (sorted) return sorted;
  const byText: ValueMap = new Map();
  for (const [key, value] of map) byText.set(strOf(key), value);
  return sortedEntries(byText) ?? [];
}
