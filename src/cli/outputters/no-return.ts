/** The outputter of minions that did not return: keys as in nested, text in red, everything that is not text left out. */
import type { Value } from "../../wire/values.ts";
import { type Paint, paintFor } from "./colours.ts";
import { sortedEntries } from "./key-order.ts";
import { strOf } from "./python-repr.ts";

/** Colour sequences stand before the indentation here, unlike nested's. Undefined where keys cannot be sorted: nested shows it then. */
export function renderNoReturn(value: Value, options: { readonly colour: boolean }): string | undefined {
  return linesOf(value, 0, paintFor(options.colour))?.join("\n");
}

function linesOf(value: Value, indent: number, paint: Paint): string[] | undefined {
  const blanks = " ".repeat(indent);
  if (typeof value === "string") {
    return value.split("\n").map((line) => paint.red + blanks + line + paint.end);
  }
  if (!(value instanceof Map)) return [];
  const entries = sortedEntries(value);
  if (!entries) return undefined;
  const lines: string[] = [];
  for (const [key, member] of entries) {
    const below = linesOf(member, indent + 4, paint);
    if (!below) return undefined;
    lines.push(`${paint.cyan}${blanks}${strOf(key)}${paint.end}:`, ...below);
  }
  return lines;
}
