/**
 * The value of one word of a command line or of a `k=v` text: YAML, with the exceptions by which Salt keeps the text.
 * Source: Salt's behaviour, table in test/minion/yaml-words.json.
 */
import type { ConfigValue } from "../config/option.ts";
import { isConfigMap, parseSaltYaml } from "../config/salt-yaml.ts";
import { Float, type Value } from "../wire/values.ts";

const floatText = /^[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?$/;

export function parseYamlWord(word: string): Value {
  if (staysText(word)) return word;
  if (word === "None") return null;
  const read = parseSaltYaml(word);
  if ("faults" in read) return word;
  const value = wordValue(read.value, word);
  if (word.includes("#") && (typeof value === "string" || value === null)) return word;
  if (value instanceof Map) return word.startsWith("{") ? value : word;
  if (Array.isArray(value)) return word.startsWith("[") ? value : word;
  if (value instanceof Uint8Array) return word;
  if (value === "" && word === "|") return word;
  if (value === null && word.startsWith("!")) return word;
  return value;
}

function staysText(word: string): boolean {
  const trimmed = word.trim();
  if (trimmed === "" || trimmed === "---" || trimmed === "...") return true;
  if (word.includes("_") && /^[0-9_]*$/.test(trimmed)) return true;
  return /[\t\r\n]/.test(word);
}

/** Config's values as the wire's: maps become Maps, and a float that is integral stays a float. */
function wordValue(value: ConfigValue, word: string): Value {
  if (typeof value === "number" && Number.isInteger(value) && floatText.test(word.trim())) return new Float(value);
  return configToValue(value);
}

export function configToValue(value: ConfigValue): Value {
  if (Array.isArray(value)) return value.map(configToValue);
  if (isConfigMap(value)) return new Map(Object.entries(value).map(([key, member]) => [key, configToValue(member)]));
  return value as Value;
}
