/**
 * Parses the arguments of a minion's publish or runner call: a text is a YAML value, a text `k=v` is a keyword.
 * Source: Salt's `parse_input`; docs/decisions/0026-yaml-words.md.
 */
import { keywordWord } from "../../config/yaml/word.ts";
import { wordValue } from "../../python/word.ts";
import { jidAsText } from "../../wire/jid.ts";
import type { Value, ValueMap } from "../../wire/values.ts";

const keywordMark = "__kwarg__";

/** Returns the positional arguments in order, then all keywords in one map with `__kwarg__`. `noParse`: names of keywords whose values stay texts. */
export function parsedArguments(sent: readonly Value[], noParse: readonly Value[]): Value[] {
  const args: Value[] = [];
  const keywords: ValueMap = new Map<Value, Value>([[keywordMark, true]]);
  for (const value of sent) {
    const keyword = typeof value === "string" ? keywordWord(value) : undefined;
    if (keyword !== undefined) {
      const isText = noParse.includes(keyword.name);
      keywords.set(keyword.name, isText ? keyword.word : wordValue(keyword.word));
    } else if (value instanceof Map && value.get(keywordMark) === true) {
      for (const [name, member] of value) keywords.set(name, member);
    } else {
      args.push(typeof value === "string" ? jidAsText(wordValue(value)) : value);
    }
  }
  return keywords.size > 1 ? [...args, keywords] : args;
}
