/** Source `extra_minion_data_in_pillar`: copies data that the minion sends (`pass_to_ext_pillars`) into its pillar. Source: Salt 3007, observed. */
import { iterate } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { ExternalSource } from "./contract.ts";

/** The value at `key`, inside the same maps: `a:b` gives `{a: {b: value}}`. */
function subtree(key: string, data: ValueMap): ValueMap {
  const parts = key.split(":");
  let value: Value = data;
  for (const part of parts) {
    if (!(value instanceof Map) || !value.has(part)) return new Map();
    value = value.get(part) ?? null;
  }
  return parts.reduceRight<Value>((inner, part) => new Map([[part, inner]]), value) as ValueMap;
}

export const minionData: ExternalSource = {
  parameters: ["include"],
  requiredCount: 1,
  isForMinions: true,
  read: ({ extraData }, args) => {
    const include = args.get("include") ?? null;
    if (extraData.size === 0) return new Map();
    if (include === "*" || include === "<all>") return extraData;
    const data: ValueMap = new Map();
    for (const key of iterate(include)) {
      for (const [name, value] of subtree(String(key), extraData)) data.set(name, value);
    }
    return data;
  },
};
