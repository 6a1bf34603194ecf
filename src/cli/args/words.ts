/** Words of a command line as a job's arguments: positional values, then keywords in one map. Source: docs/compatibility.md, words to values. */
import { parseWord } from "../../config/yaml/word.ts";
import { Float, type Value, type ValueMap } from "../../wire/values.ts";

/** `name=value`, but not `name==value`; the value ends before a line end, of which only a last one is allowed. */
const keyword = /^((?:[\p{L}\p{Nl}\p{No}_])[\p{L}\p{N}_.-]*)=(?!=)([^\n]*)\n?$/u;
/** 20 characters that Python's `int` takes: an integer like this is a job id and travels as text. */
const jobIdLength = 20;
/** Marks the last argument as the map of keywords. */
export const keywordMark = "__kwarg__";

export type WordOptions = {
  /** Keywords whose value stays the text that it is (`--no-parse`). */
  readonly noParse?: readonly string[];
};

/** Values in order; if there are keywords, a map with `__kwarg__: true` first ends the list. The later of two equal names wins. */
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

/** One word that is no keyword, and the value of an option that takes YAML. */
export function valueOfWord(word: string): Value {
  return parseWord(word, (value) => new Float(value));
}

function jobIdAsText(value: Value): Value {
  const isInteger = typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
  return isInteger && String(value).length === jobIdLength ? String(value) : value;
}
