/** A return as the JSON text that Salt's returners write. */
import { dumpJson } from "../../../python/json.ts";
import type { Value } from "../../../wire/values.ts";

export function jsonOf(value: Value): string {
  return dumpJson(value, { sortsKeys: false, isAscii: false, indent: undefined });
}

/** Bytes as text, where they are valid UTF-8, as Salt's database returners have them. */
export function withTexts(value: Value): Value {
  if (value instanceof Uint8Array) {
    const text = Buffer.from(value.buffer, value.byteOffset, value.length).toString("utf8");
    return Buffer.from(text, "utf8").equals(value) ? text : value;
  }
  if (Array.isArray(value)) return value.map(withTexts);
  if (!(value instanceof Map)) return value;
  return new Map(Array.from(value, ([key, member]): [Value, Value] => [withTexts(key), withTexts(member)]));
}
