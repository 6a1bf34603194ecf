/** The configuration as a value that outputters show. */
import type { Value } from "../../wire/values.ts";

/** Maps of options, lists and scalars; what YAML has no form for becomes its text. */
export function configValue(value: unknown): Value {
  if (value === null || value === undefined) return null;
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "bigint") return value;
  if (typeof value === "number" || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(configValue);
  const entries: Iterable<[unknown, unknown]> = value instanceof Map ? value : Object.entries(value);
  return new Map([...entries].map(([key, member]) => [String(key), configValue(member)]));
}
