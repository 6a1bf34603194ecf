/** Values as Python's `str()` writes them, because Salt compares grains and pillar values as such text. */
import { type Datum, isList, isMap } from "./facts.ts";

export function pythonText(value: Datum): string {
  return typeof value === "string" ? value : pythonRepr(value);
}

function pythonRepr(value: Datum): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : floatText(value);
  if (typeof value === "string") return quoted(value);
  if (value instanceof Uint8Array) return `b${quoted(Buffer.from(value).toString("latin1"))}`;
  if (isList(value)) return `[${value.map(pythonRepr).join(", ")}]`;
  if (isMap(value)) {
    return `{${Array.from(value, ([key, item]) => `${pythonRepr(key)}: ${pythonRepr(item)}`).join(", ")}}`;
  }
  return "value" in value ? floatText(value.value) : `ExtType(code=${value.type}, data=${pythonRepr(value.data)})`;
}

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  return quote + text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll(quote, `\\${quote}`) + quote;
}

/** Python writes a float with a point or an exponent always, the exponent from 1e16 up and below 1e-4, in two digits. */
function floatText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const magnitude = Math.abs(value);
  if (magnitude !== 0 && (magnitude >= 1e16 || magnitude < 1e-4)) {
    return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  return Number.isInteger(value) ? `${Object.is(value, -0) ? "-0" : value}.0` : String(value);
}
