/** The outputter of minions that did not return: keys as in `nested`, texts in red, no other values. */

import { sortedEntries } from "../../python/key-order.ts";
import { strOf } from "../../python/repr.ts";
import type { Value } from "../../wire/values.ts";
import { type Paint, paintFor } from "./colours.ts";

/** Unlike in `nested`, colours start before the indentation. Returns undefined if keys cannot be sorted: `nested` then shows the value. */
export function renderNoReturn(value: Value, options: { readonly colour: boolean }): string | undefined {
  const lines: string[] = [];
  return addLines(lines, value, 0, paintFor(options.colour)) ? lines.join("\n") : undefined;
}

/** Adds a value's lines. Returns false if keys cannot be sorted. */
function addLines(lines: string[], value: Value, indent: number, paint: Paint): boolean {
  const blanks = " ".repeat(indent);
  if (typeof value === "string") {
    for (const line of value.split("\n")) lines.push(paint.red + blanks + line + paint.end);
  }
  if (!(value instanceof Map)) return true;
  const entries = sortedEntries(value);
  if (!entries) return false;
  return entries.every(([key, member]) => {
    lines.push(`${paint.cyan}${blanks}${strOf(key)}${paint.end}:`);
    return addLines(lines, member, indent + 4, paint);
  });
}
