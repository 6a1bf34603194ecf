/** Reads an entry of `include` in a pillar file: the included file, its defaults, and the key under which its values go. */
import type { Value, ValueMap } from "../wire/values.ts";

/** `include: [name, {name: {defaults: {...}, key: a:b}}]` */
export function readInclude(entry: Value): {
  name: string;
  key: string | undefined;
  own: ReadonlyMap<Value, Value> | undefined;
} {
  if (!(entry instanceof Map)) return { name: String(entry), key: undefined, own: undefined };
  const [first] = entry;
  const [name, details] = first ?? ["", null];
  const defaults = details instanceof Map ? details.get("defaults") : undefined;
  const key = details instanceof Map ? details.get("key") : undefined;
  return {
    name: String(name),
    key: typeof key === "string" && key !== "" ? key : undefined,
    own: defaults instanceof Map ? defaults : new Map(),
  };
}

export function underKey(key: string, state: ValueMap): ValueMap {
  return key.split(":").reduceRight((inner, part): ValueMap => new Map<Value, Value>([[part, inner]]), state);
}
