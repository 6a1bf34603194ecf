/**
 * Parses the arguments of a minion's publish or runner call: texts are YAML, `k=v` texts are keywords.
 * Source: Salt's `parse_input`; docs/compatibility.md, words to values.
 */
import { keywordWord, parseWord } from "../../config/yaml/word.ts";
import { jidAsText } from "../../wire/jid.ts";
import { Float, type Value, type ValueMap } from "../../wire/values.ts";

const keywordMark = "__kwarg__";

/** Positional arguments in order, then all keywords in one marked map. `noParse`: keywords whose value stays a text. */
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

function wordValue(word: string): Value {
  return parseWord(word, (value) => new Float(value));
}
