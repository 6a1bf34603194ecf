/** Two texts' differences line by line, without context, as `survey.diff` prints them. */
import { unifiedLines } from "../python/difflib.ts";

/** Each line ends with a line break. Nothing for equal texts. */
export function unifiedDiff(a: string, b: string, names: { readonly from: string; readonly to: string }): string {
  const lines = unifiedLines(linesOf(a), linesOf(b), { ...names, contextLines: 0, lineEnd: "" });
  return lines.map((line) => `${line}\n`).join("");
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|[\n\r]/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
