/** Patterns in searches of jobs: Python's globs, as texts separated by commas or as lists. */

import { compileGlob } from "../../python/fnmatch.ts";
import type { TextPattern } from "../../store/jobs/facts.ts";
import type { Value } from "../../wire/values.ts";

/** Undefined if the argument is empty. A job matches if one of the patterns matches. */
export function patternsOf(value: Value | undefined): readonly TextPattern[] | undefined {
  if (value === undefined || value === null || value === "" || value === false) return undefined;
  if (!Array.isArray(value))
    return String(value)
      .split(",")
      .map((word) => patternOf(word.trim()));
  return value.length === 0 ? undefined : value.map((word) => patternOf(String(word)));
}

/** A search tries a pattern on some 100,000 texts, so the common forms avoid the glob matcher. */
function patternOf(glob: string): TextPattern {
  if (!/[*?[]/.test(glob)) return { exact: glob, matches: (text) => text === glob };
  if (/[?[]/.test(glob)) {
    const start = glob.slice(0, glob.search(/[*?[]/));
    const compiled = compileGlob(glob);
    return { exact: undefined, matches: (text) => text.startsWith(start) && compiled.matches(text) };
  }
  const [start = "", ...parts] = glob.split("*");
  const end = parts.pop() ?? "";
  return { exact: undefined, matches: (text) => holdsInOrder(text, start, parts, end) };
}

/** Whether a text begins with `start`, ends with `end` and has the parts in between, in order. */
function holdsInOrder(text: string, start: string, parts: readonly string[], end: string): boolean {
  if (!text.startsWith(start) || !text.endsWith(end)) return false;
  let at = start.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at + end.length <= text.length;
}
