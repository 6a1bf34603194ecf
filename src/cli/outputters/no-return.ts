/** The outputter of minions that did not return: keys as in nested, text in red, everything that is not text left out. */
import type { Value } from "../../wire/values.ts";
import { type Paint, paintFor } from "./colours.ts";
import { sortedAsText } from "./key-order.ts";
import { strOf } from "./python-repr.ts";

/** Colour sequences stand before the indentation here, unlike nested's. */
export function renderNoReturn(value: Value, options: { readonly colour: boolean }): string {
  return linesOf(value, 0, paintFor(options.colour)).join("\n");
}

function linesOf(value: Value, indent: number, paint: Paint): string[] {
  const blanks = " ".repeat(indent);
  if (typeof value === "string") {
    return value.split("\n").map((line) => paint.red + blanks + line + paint.end);
  }
  if (!(value instanceof Map)) return [];
  return sortedAsText(value).flatMap(([key, member]) => [
    `${paint.cyan}${blanks}${strOf(key)}${paint.end}:`,
    ...linesOf(member, indent + 4, paint),
  ]);
}
