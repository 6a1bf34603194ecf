/** Turns a configuration into a value for outputters. */
import type { Value } from "../../wire/values.ts";

/** Keeps scalars and lists. Turns objects into maps and the keys of maps into text. */
export function configValue(value: unknown): Value {
  if (value === null || value === undefined) return null;
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "bigint") return value;
  if (typeof value === "number" || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(configValue);
  const entries: Iterable<[unknown, unknown]> = value instanceof Map ? value : Object.entries(value);
  return new Map([...entries].map(([key, member]) => [String(key), configValue(member)]));
}
