/**
 * Reads one word of a command line or of a `k=v` text as YAML, except where Salt keeps the text.
 * Source: docs/decisions/0026-yaml-words.md; Salt's values are recorded in test/golden/yamlify.json.
 */
import { readYaml, type YamlValue } from "./yaml11.ts";

/** `name=value`: the name starts with a letter or underscore. The value does not start with `=`, and has a line feed only at its end. */
const keywordPattern = /^([\p{L}_][\p{L}\p{N}_.-]*)=(?!=)([^\n]*)\n?$/u;

/** Splits a word of the form `name=value` without reading the value; undefined for other words. */
export function keywordWord(text: string): { readonly name: string; readonly word: string } | undefined {
  const [, name, word] = keywordPattern.exec(text) ?? [];
  return name === undefined || word === undefined ? undefined : { name, word };
}

/** Reads a word. `floatOf` wraps a float with an integral value, for example in `new Float(1)`, so that `1.0` stays a float. */
export function parseWord<F>(word: string, floatOf: (value: number) => F): YamlValue<F> {
  if (staysText(word)) return word;
  if (word === "None") return null;
  const read = readYaml(word, floatOf);
  if (!read) return word;
  const { value } = read;
  // YAML drops a comment after `#`. Salt then keeps the whole word, unless the value is neither text nor null.
  if (word.includes("#")) return typeof value === "string" || value === null ? word : value;
  if (value instanceof Map) return word.startsWith("{") ? value : word;
  if (Array.isArray(value)) return word.startsWith("[") ? value : word;
  if (value instanceof Uint8Array) return word;
  if (value === "" && (word === "|" || word === "!")) return word;
  return value;
}

/** Whether Salt keeps the word as text without reading YAML: blanks, document marks, digits with underscores, tabs or line ends. */
function staysText(word: string): boolean {
  const trimmed = word.trim();
  if (trimmed === "" || trimmed === "---" || trimmed === "...") return true;
  if (word.includes("_") && /^[0-9_]*$/.test(trimmed)) return true;
  return /[\t\r\n]/.test(word);
}
