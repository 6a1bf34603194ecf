/** Sorts a map's keys as Python's `sorted` does, and refuses keys that Python cannot compare. */
import { strOf } from "./repr.ts";
import { compareText } from "./text.ts";
import { isNumber, orderNumbers, type ReadItem } from "./values.ts";

/** Entries by key; undefined if Python cannot compare the keys, such as text and numbers. */
export function sortedEntries<V extends ReadItem>(map: ReadonlyMap<V, V>): [V, V][] | undefined {
  const entries = [...map];
  if (entries.length < 2) return entries;
  const compare = comparison(entries.map(([key]) => key));
  return compare && entries.sort(([left], [right]) => compare(left, right));
}

function comparison(keys: readonly ReadItem[]): ((left: ReadItem, right: ReadItem) => number) | undefined {
  if (keys.every((key) => typeof key === "string"))
    return (left, right) => compareText(left as string, right as string);
  if (keys.every(isNumber)) return (left, right) => (isNumber(left) && isNumber(right) ? orderNumbers(left, right) : 0);
  if (keys.every((key) => key instanceof Uint8Array))
    return (left, right) => Buffer.compare(left as Uint8Array, right as Uint8Array);
  return undefined;
}

/** Entries by key. If Python cannot compare the keys, they become text first; of equal texts the later entry wins. */
export function sortedAsText<V extends ReadItem>(map: ReadonlyMap<V, V>): [V | string, V][] {
  const sorted = sortedEntries(map);
  if (sorted) return sorted;
  const byText = new Map(Array.from(map, ([key, value]): [string, V] => [strOf(key), value]));
  return [...byText].sort(([left], [right]) => compareText(left, right));
}
