/** Python's `repr` and `str` of decoded values: what `--out=raw`, `txt` and `pprint` are made of. */
import { Ext, Float, type Value } from "../wire/values.ts";

/** `str.isprintable` is false for these, and `repr` escapes them. The plain blank is a separator, but printable. */
const unprintable = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/** Text without quotes, backslashes or anything beyond printable ASCII: most of all text, and `repr` only puts quotes around it. */
const ordinary = /^[\x20-\x26\x28-\x5b\x5d-\x7e]*$/;

const shortEscapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };

/** `repr` of a value; containers print their members' `repr`, in the order they arrived in. */
export function reprOf(value: Value): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return reprText(value);
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") return Number.isInteger(value) ? BigInt(value).toString() : reprFloat(value);
  if (value instanceof Float) return reprFloat(value.value);
  if (value instanceof Uint8Array) return reprBytes(value);
  if (value instanceof Ext) return `ExtType(code=${value.type}, data=${reprBytes(value.data)})`;
  if (Array.isArray(value)) return `[${value.map(reprOf).join(", ")}]`;
  return `{${[...value].map(([key, member]) => `${reprOf(key)}: ${reprOf(member)}`).join(", ")}}`;
}

/** `str` of a value: text as it is, anything else as its `repr`. */
export function strOf(value: Value): string {
  return typeof value === "string" ? value : reprOf(value);
}

/** Shortest digits that read back the same, in Python's choice between positional and exponent form. */
export function reprFloat(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value < 0 ? "-inf" : "inf";
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const [mantissa = "", power = ""] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const exponent = Number(power);
  const sign = value < 0 ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
    const size = Math.abs(exponent).toString().padStart(2, "0");
    return `${sign}${digits[0]}${fraction}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}

/** Single quotes unless the text holds a single quote and no double one. */
export function reprText(text: string): string {
  if (ordinary.test(text)) return `'${text}'`;
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let body = "";
  for (const character of text) {
    if (character === quote) body += `\\${quote}`;
    else if (character in shortEscapes) body += shortEscapes[character];
    else if (unprintable.test(character)) body += escapeCodePoint(character.codePointAt(0) ?? 0);
    else body += character;
  }
  return quote + body + quote;
}

function escapeCodePoint(code: number): string {
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

export function reprBytes(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let body = "";
  for (const character of text) {
    const code = character.charCodeAt(0);
    if (character === quote) body += `\\${quote}`;
    else if (character in shortEscapes) body += shortEscapes[character];
    else if (code < 0x20 || code > 0x7e) body += escapeCodePoint(code);
    else body += character;
  }
  return `b${quote}${body}${quote}`;
}
