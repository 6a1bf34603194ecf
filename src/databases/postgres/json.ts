/** Values as PostgreSQL takes them: its texts hold no zero byte, and its `jsonb` neither that nor NaN and infinities. */
import type { PostgresName } from "./settings.ts";

const replacement = "\ufffd";
const zeroEscape = "\\u0000";
/** What may be in a JSON text that `jsonb` refuses. */
const suspicious = [zeroEscape, "NaN", "Infinity"];

export function withoutZeros(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", replacement) : text;
}

/** The JSON as the columns of the driver's tables take it. */
export function jsonOf(name: PostgresName, json: string): string {
  return name === "pgjsonb" ? jsonbOf(json) : json;
}

/** The JSON with replacement characters for zero bytes, and with texts for NaN and infinities. */
function jsonbOf(json: string): string {
  if (!suspicious.some((part) => json.includes(part))) return json;
  const parts: string[] = [];
  for (let at = 0; at < json.length; ) {
    const quote = json.indexOf('"', at);
    const start = quote === -1 ? json.length : quote;
    parts.push(json.slice(at, start).replaceAll(/-?Infinity|NaN/g, '"$&"'));
    const end = quote === -1 ? start : afterString(json, start);
    parts.push(withoutEscapes(json.slice(start, end)));
    at = end;
  }
  return parts.join("");
}

/** The place behind a string whose first quote is at `start`. */
function afterString(json: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    const quote = json.indexOf('"', at);
    if (quote === -1) return json.length;
    let backslashes = 0;
    while (json[quote - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
    at = quote;
  }
}

/** A backslash may itself be escaped, so escapes are read in pairs. */
function withoutEscapes(quoted: string): string {
  if (!quoted.includes(zeroEscape)) return quoted;
  return quoted.replaceAll(/\\(?:u0000|.)/gs, (pair) => (pair === zeroEscape ? replacement : pair));
}
