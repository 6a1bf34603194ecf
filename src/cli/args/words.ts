/** Turns words into a job's arguments: positional values, then one map of keywords. Source: docs/decisions/0026-yaml-words.md. */
import { wordValue } from "../../python/word.ts";
import type { Value, ValueMap } from "../../wire/values.ts";

/** `name=value`, but not `name==value`. One line feed at the end of the value is dropped. */
const keyword = /^((?:[\p{L}\p{Nl}\p{No}_])[\p{L}\p{N}_.-]*)=(?!=)([^\n]*)\n?$/u;
/** An integer of this length is taken as a job id and sent as text. */
const jobIdLength = 20;
/** Marks the last argument as the map of keywords. */
export const keywordMark = "__kwarg__";

export type WordOptions = {
  /** Keywords whose value stays text (`--no-parse`). */
  readonly noParse?: readonly string[];
};

/** Returns the positional values in order, then a map of the keywords that begins with `__kwarg__: true`. Of two equal names the later wins. */
export function parseArguments(words: readonly string[], options: WordOptions = {}): Value[] {
  const positional: Value[] = [];
  const named: ValueMap = new Map([[keywordMark, true]]);
  let keywordCount = 0;
  for (const word of words) {
    const [, name, text = ""] = keyword.exec(word) ?? [];
    if (name === undefined) {
      positional.push(jobIdAsText(wordValue(word)));
    } else {
      named.set(name, options.noParse?.includes(name) ? text : wordValue(text));
      keywordCount += 1;
    }
  }
  return keywordCount > 0 ? [...positional, named] : positional;
}

function jobIdAsText(value: Value): Value {
  const isInteger = typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
  return isInteger && String(value).length === jobIdLength ? String(value) : value;
}
