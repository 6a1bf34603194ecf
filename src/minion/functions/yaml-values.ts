/** Converts configurations to wire values. */

import { type ConfigValue, isConfigMap } from "../../config/yaml/values.ts";
import type { Value } from "../../wire/values.ts";

export function configToValue(value: ConfigValue): Value {
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  if (isConfigMap(value)) return new Map(Object.entries(value).map(([key, member]) => [key, configToValue(member)]));
  return value.map(configToValue);
}
