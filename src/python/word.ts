/** The value of one word of a command line, of a keyword or of an option, as Salt reads it from YAML. */
import { parseWord } from "../config/yaml/word.ts";
import { Float, type Value } from "../wire/values.ts";

export function wordValue(word: string): Value {
  return parseWord(word, (value) => new Float(value));
}
