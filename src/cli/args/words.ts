/** Turns words of a command line into a job's arguments: positional values, then one map of keywords. Source: docs/compatibility.md, words to values. */
import { parseWord } from "../../config/yaml/word.ts";
import { Float, type Value, type ValueMap } from "../../wire/values.ts";

/** `name=value`, but not `name==value`. The value may end with one line end, which is dropped. */
const keyword = /^((?:[\p{L}\p{Nl}\p{No}_])[\p{L}\p{N}_.-]*)=(?!=)([^\n]*)\n?$/u;
/** An integer of 20 characters is a job id and is sent as text. */
const jobIdLength = 20;
/** Marks the last argument as the map of keywords. */
export const keywordMark = "__kwarg__";

export type WordOptions = {
  /** Keywords whose value stays text (`--no-parse`). */
  readonly noParse?: readonly string[];
};

/** Returns the values in order. A map of the keywords, which begins with `__kwarg__: true`, is the last. The later of two equal names wins. */
export function parseArguments(words: readonly string[], options: WordOptions = {}): Value[] {
  const positional: Value[] = [];
  const named: ValueMap = new Map([[keywordMark, true]]);
  let keywordCount = 0;
  for (const word of words) {
    const [, name, text = ""] = keyword.exec(word) ?? [];
    if (name === undefined) {
      positional.push(jobIdAsText(valueOfWord(word)));
    } else {
      named.set(name, options.noParse?.includes(name) ? text : valueOfWord(text));
      keywordCount += 1;
    }
  }
  return keywordCount > 0 ? [...positional, named] : positional;
}

/** The value of a positional word, a keyword or an option with YAML. */
export function valueOfWord(word: string): Value {
  return parseWord(word, (value) => new Float(value));
}

function jobIdAsText(value: Value): Value {
  const isInteger = typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
  return isInteger && String(value).length === jobIdLength ? String(value) : value;
}
