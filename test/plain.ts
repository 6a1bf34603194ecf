/** A decoded value as plain objects, which `deepEqual` compares with literals. */
import type { Value } from "../src/wire/values.ts";

export function plain(value: Value): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, member]) => [String(key), plain(member)]));
  return Array.isArray(value) ? value.map(plain) : value;
}
