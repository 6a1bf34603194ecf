/** Values of the wire from YAML: of words and of configurations. */

import { type ConfigValue, isConfigMap } from "../../config/yaml/values.ts";
import { parseWord } from "../../config/yaml/word.ts";
import { Float, type Value } from "../../wire/values.ts";

/** The value of one word of a command line or of a `k=v` text, as Salt reads it. */
export function parseYamlWord(word: string): Value {
  return parseWord(word, (value) => new Float(value));
}

export function configToValue(value: ConfigValue): Value {
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return value;
  if (isConfigMap(value)) return new Map(Object.entries(value).map(([key, member]) => [key, configToValue(member)]));
  return value.map(configToValue);
}
