/** Values as Python's `str()` writes them, because Salt compares grains and pillar values as such text. */
import { reprBytes, reprFloat, reprText } from "../python/repr.ts";
import { type Datum, isList, isMap } from "./facts.ts";

export function pythonText(value: Datum): string {
  return typeof value === "string" ? value : pythonRepr(value);
}

function pythonRepr(value: Datum): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : reprFloat(value);
  if (typeof value === "string") return reprText(value);
  if (value instanceof Uint8Array) return reprBytes(value);
  if (isList(value)) return `[${value.map(pythonRepr).join(", ")}]`;
  if (isMap(value)) {
    return `{${Array.from(value, ([key, item]) => `${pythonRepr(key)}: ${pythonRepr(item)}`).join(", ")}}`;
  }
  return "value" in value ? reprFloat(value.value) : `ExtType(code=${value.type}, data=${pythonRepr(value.data)})`;
}
