/** Decoded values as plain objects and lists, so that tests compare them with literals. */
import type { Value } from "../src/wire/values.ts";

export function plain(value: Value): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, member]) => [String(key), plain(member)]));
  return Array.isArray(value) ? value.map(plain) : value;
}

/** The same through JSON: numbers, texts and nested maps in the form of a recorded JSON file. */
export function plainJson(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, member: unknown) => (member instanceof Map ? Object.fromEntries(member) : member)),
  );
}
