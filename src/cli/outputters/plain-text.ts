/** The line-wise outputters for scripts: `txt`, `raw`, `newline_values_only`. */

import { reprBytes, strOf } from "../../python/repr.ts";
import { splitLines } from "../../python/text.ts";
import type { Value } from "../../wire/values.ts";
import { renderPprint } from "./pprint.ts";

/** `id: line` for each line of a text, `id: repr` for any other value. */
export function renderTxt(value: Value): string {
  if (typeof value === "string") return value;
  if (!(value instanceof Map)) return renderPprint(value);
  const lines: string[] = [];
  for (const [key, member] of value) {
    for (const line of linesOf(member)) lines.push(`${strOf(key)}: ${line}`);
  }
  return lines.join("\n");
}

function linesOf(value: Value): string[] {
  if (typeof value === "string") return splitLines(value);
  return value instanceof Uint8Array ? byteLines(value).map(reprBytes) : [strOf(value)];
}

/** Splits at `\n`, `\r` and `\r\n` only, as Python does for bytes. */
function byteLines(bytes: Uint8Array): Uint8Array[] {
  const text = Buffer.from(bytes).toString("latin1");
  const lines = text.split(/\r\n|\r|\n/u);
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => Buffer.from(line, "latin1"));
}

/** The whole value in Python notation on one line. */
export function renderRaw(value: Value): string {
  return strOf(value);
}

/** One line for each value, without ids; for a list, one line for each member. Returns undefined for data that is not keyed by id. */
export function renderNewlineValuesOnly(value: Value): string | undefined {
  if (!(value instanceof Map)) return undefined;
  const members = [...value.values()].flatMap((member) => (Array.isArray(member) ? member : [member]));
  return members.map(strOf).join("\n");
}
