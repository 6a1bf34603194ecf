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
  if (value instanceof Uint8Array) return `b${quoted(Buffer.from(value).toString("latin1"), true)}`;
  if (isList(value)) return `[${value.map(pythonRepr).join(", ")}]`;
  if (isMap(value)) {
    return `{${Array.from(value, ([key, item]) => `${pythonRepr(key)}: ${pythonRepr(item)}`).join(", ")}}`;
  }
  return "value" in value ? floatText(value.value) : `ExtType(code=${value.type}, data=${pythonRepr(value.data)})`;
}

/** Text that needs nothing but its quotes: most of all text. */
const ordinary = /^[\x20-\x26\x28-\x5b\x5d-\x7e]*$/;
const unprintable = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;
const shortEscapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };

function quoted(text: string, isBytes = false): string {
  if (ordinary.test(text)) return `'${text}'`;
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let body = "";
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (character === quote) body += `\\${quote}`;
    else if (character in shortEscapes) body += shortEscapes[character];
    else if (unprintable.test(character) || (isBytes && code > 0x7e)) body += escaped(code);
    else body += character;
  }
  return quote + body + quote;
}

function escaped(code: number): string {
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
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
