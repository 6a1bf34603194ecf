/** Reads and writes JSON as Python's `json` module does: separators, order of keys, ints apart from floats. */

import { randomUUID } from "node:crypto";
import { Float } from "../wire/values.ts";
import { raised } from "./errors.ts";
import { reprFloat } from "./repr.ts";
import { compareText } from "./text.ts";
import { type Item, isFloat, isNumber, Tuple, typeName } from "./values.ts";

export type JsonOptions = {
  readonly sortsKeys: boolean;
  readonly isAscii: boolean;
  readonly indent: number | undefined;
};

function quoted(text: string, isAscii: boolean): string {
  const json = JSON.stringify(text).replaceAll("\x7f", "\x7f");
  if (!isAscii) return json;
  return json.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function numberText(item: number | bigint | Float | boolean): string {
  if (typeof item === "boolean") return item ? "true" : "false";
  if (!isFloat(item)) return String(item);
  const text = reprFloat(item instanceof Float ? item.value : item);
  return { inf: "Infinity", "-inf": "-Infinity", nan: "NaN" }[text] ?? text;
}

function keyText(key: Item): string {
  if (typeof key === "string") return key;
  if (key === null) return "null";
  if (isNumber(key)) return numberText(key);
  throw raised("TypeError", `keys must be str, int, float, bool or None, not ${typeName(key)}`);
}

function wrapped(
  open: string,
  close: string,
  parts: readonly string[],
  indent: number | undefined,
  depth: number,
): string {
  if (parts.length === 0) return open + close;
  if (indent === undefined) return open + parts.join(", ") + close;
  const pad = `\n${" ".repeat(Math.min(indent, 100) * (depth + 1))}`;
  return `${open}${pad}${parts.join(`,${pad}`)}\n${" ".repeat(Math.min(indent, 100) * depth)}${close}`;
}

export function dumpJson(item: Item, options: JsonOptions, depth = 0): string {
  if (item === null) return "null";
  if (typeof item === "string") return quoted(item, options.isAscii);
  if (isNumber(item)) return numberText(item);
  const { indent } = options;
  if (Array.isArray(item) || item instanceof Tuple) {
    const members = Array.isArray(item) ? item : item.items;
    return wrapped(
      "[",
      "]",
      members.map((member) => dumpJson(member, options, depth + 1)),
      indent,
      depth,
    );
  }
  if (!(item instanceof Map)) throw raised("TypeError", `Object of type ${typeName(item)} is not JSON serializable`);
  const pairs = [...item];
  if (options.sortsKeys) {
    const hasMixedKeys =
      pairs.some(([key]) => typeof key === "string") && pairs.some(([key]) => typeof key !== "string");
    if (hasMixedKeys) throw raised("TypeError", "'<' not supported between instances of 'str' and 'int'");
    pairs.sort(([a], [b]) =>
      isNumber(a) && isNumber(b) ? Number(numberOf(a)) - Number(numberOf(b)) : compareText(keyText(a), keyText(b)),
    );
  }
  const parts = pairs.map(
    ([key, value]) => `${quoted(keyText(key), options.isAscii)}: ${dumpJson(value, options, depth + 1)}`,
  );
  return wrapped("{", "}", parts, indent, depth);
}

function numberOf(item: number | bigint | Float | boolean): number | bigint | boolean {
  return item instanceof Float ? item.value : item;
}

/**
 * Where a text in double quotes ends, whose first quote is at `start`; undefined if it does not end. Takes linear time on any text: a pattern
 * that tries each quote anew takes minutes on a hundred thousand escaped ones.
 */
export function endOfQuoted(text: string, start: number): number | undefined {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let first = quote;
    while (text[first - 1] === "\\" && first - 1 > start) first -= 1;
    if ((quote - first) % 2 === 0) return quote + 1;
  }
  return undefined;
}

/** Marks numbers outside of texts, except for ints that `JSON.parse` reads without loss: they are the most, and a mark costs a microsecond. */
function withMarks(text: string, mark: string): string {
  const token = /"|-?(?:\d+\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\d{16,})|-?Infinity|NaN/g;
  const pieces: string[] = [];
  let done = 0;
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    if (found[0] === '"') {
      // The rest has an open quote: JSON.parse says so.
      token.lastIndex = endOfQuoted(text, found.index) ?? text.length;
      continue;
    }
    pieces.push(text.slice(done, found.index), `"${mark}${found[0]}"`);
    done = token.lastIndex;
  }
  pieces.push(text.slice(done));
  return pieces.join("");
}

/** What `JSON.parse` alone reads with a loss or refuses; it may stand in a text, too. */
const needsMarks = /\d[.eE]|\d{16}|Infinity|NaN/;

/** Marks floats in the text before `JSON.parse`, which does not tell ints from floats. */
export function loadJson(text: string): Item {
  // Not guessable, so that no text of the JSON has it.
  const mark = needsMarks.test(text) ? `number ${randomUUID().slice(0, 13)}:` : undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(mark === undefined ? text : withMarks(text, mark));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw raised("ValueError", "Unable to load json");
  }
  return fromJson(parsed, mark);
}

function fromJson(value: unknown, mark: string | undefined): Item {
  if (value === null || typeof value === "boolean" || typeof value === "number") return value;
  if (typeof value === "string")
    return mark !== undefined && value.startsWith(mark) ? numberFrom(value.slice(mark.length)) : value;
  if (Array.isArray(value)) return value.map((item) => fromJson(item, mark));
  return new Map(Object.entries(value as object).map(([key, item]): [Item, Item] => [key, fromJson(item, mark)]));
}

function numberFrom(text: string): Item {
  if (/^-?I|^N/.test(text)) return Number(text);
  if (/[.eE]/.test(text)) {
    const value = Number(text);
    return Number.isInteger(value) ? new Float(value) : value;
  }
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}
