/** Reads entries of `include` in pillar files: the file, its defaults and the key for its values. */
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
