/**
 * Reads one word of a command line or of a `k=v` text as YAML, except where Salt keeps the text.
 * Source: docs/compatibility.md, words to values; what Salt answered is recorded in test/golden/yamlify.json.
 */
import { readYaml, type YamlValue } from "./yaml11.ts";

/** `name=value`: the name starts with a letter or underscore. The value does not start with `=`, and has a line feed only at its end. */
const keywordPattern = /^([\p{L}_][\p{L}\p{N}_.-]*)=(?!=)([^\n]*)\n?$/u;

/** Splits a word of the form `name=value` without reading the value; undefined for other words. */
export function keywordWord(text: string): { readonly name: string; readonly word: string } | undefined {
  const [, name, word] = keywordPattern.exec(text) ?? [];
  return name === undefined || word === undefined ? undefined : { name, word };
}

/** `floatOf` makes floats whose value is integral, as `new Float` does. */
export function parseWord<F>(word: string, floatOf: (value: number) => F): YamlValue<F> {
  if (staysText(word)) return word;
  if (word === "None") return null;
  const read = readYaml(word, floatOf);
  if (!read) return word;
  const { value } = read;
  // The text after a `#` would be lost, which Salt accepts only for structures and typed values.
  if (word.includes("#")) return typeof value === "string" || value === null ? word : value;
  if (value instanceof Map) return word.startsWith("{") ? value : word;
  if (Array.isArray(value)) return word.startsWith("[") ? value : word;
  if (value instanceof Uint8Array) return word;
  if (value === "" && (word === "|" || word === "!")) return word;
  return value;
}

/** Blank words, document marks, digits with underscores, and anything with a tab or line end never reach YAML. */
function staysText(word: string): boolean {
  const trimmed = word.trim();
  if (trimmed === "" || trimmed === "---" || trimmed === "...") return true;
  if (word.includes("_") && /^[0-9_]*$/.test(trimmed)) return true;
  return /[\t\r\n]/.test(word);
}
