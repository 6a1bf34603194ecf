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

/** Marks floats in the text before `JSON.parse`, which does not tell ints from floats. */
export function loadJson(text: string): Item {
  // Not guessable, so that no text of the JSON has it.
  const mark = `number ${randomUUID()}:`;
  const marked = text.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|-?Infinity|NaN/g, (token) =>
    token.startsWith('"') ? token : JSON.stringify(mark + token),
  );
  let parsed: unknown;
  try {
    parsed = JSON.parse(marked);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw raised("ValueError", "Unable to load json");
  }
  return fromJson(parsed, mark);
}

function fromJson(value: unknown, mark: string): Item {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") return value.startsWith(mark) ? numberFrom(value.slice(mark.length)) : value;
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
