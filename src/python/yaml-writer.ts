/**
 * Values as YAML text: block and flow style as PyYAML's safe dumper writes them, with sorted keys. Unlike it, long lines are never
 * folded and texts with line breaks are always double-quoted: what is read back is the same.
 */

import { plainKind } from "../config/yaml/yaml11.ts";
import { Float } from "../wire/values.ts";
import { raised } from "./errors.ts";
import { doubleQuoted, reprFloat } from "./repr.ts";
import { type Item, isFloat, isNumber, iterate, order, Series, Tuple, typeName } from "./values.ts";

const unprintable = /[^\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10fffe}]/u;

/** Where a text may stand without quotes. */
function plainPlaces(text: string): { isBlockPlain: boolean; isFlowPlain: boolean } {
  const never = { isBlockPlain: false, isFlowPlain: false };
  if (text === "" || /^[\s]|[\s]$|\n/.test(text) || plainKind(text) !== "text") return never;
  if (/^(?:---|\.\.\.)/.test(text) || /^[#,[\]{}&*!|>'"%@`]/.test(text) || /^[?-](?:\s|$)/.test(text)) return never;
  if (/\s#/.test(text) || /:(?:\s|$)/.test(text)) return never;
  return { isBlockPlain: true, isFlowPlain: !/[,?[\]{}:]/.test(text) };
}

export function scalarText(text: string, isFlow: boolean): string {
  const { isBlockPlain, isFlowPlain } = plainPlaces(text);
  if (isFlow ? isFlowPlain : isBlockPlain) return unprintable.test(text) ? doubleQuoted(text) : text;
  if (/\n/.test(text) || unprintable.test(text)) return unicodeQuoted(text);
  return `'${text.replaceAll("'", "''")}'`;
}

/** Double quotes that leave printable characters beyond ASCII as they are. */
function unicodeQuoted(text: string): string {
  const parts = Array.from(text, (letter) => {
    const isPlain =
      letter > "\x7e" &&
      letter !== "\x85" &&
      letter !== "\xa0" &&
      !/[\u2028\u2029]/.test(letter) &&
      !unprintable.test(letter);
    return isPlain ? letter : doubleQuoted(letter).slice(1, -1);
  });
  return `"${parts.join("")}"`;
}

function numberText(item: number | bigint | Float | boolean): string {
  if (typeof item === "boolean") return item ? "true" : "false";
  if (!isFloat(item)) return String(item);
  const text = reprFloat(item instanceof Float ? item.value : item);
  if (text === "inf" || text === "-inf") return text.replace("inf", ".inf");
  if (text === "nan") return ".nan";
  return text.includes(".") ? text : text.replace("e", ".0e");
}

function sortedPairs(map: ReadonlyMap<Item, Item>): readonly (readonly [Item, Item])[] {
  const pairs = [...map];
  const kinds = new Set(pairs.map(([key]) => (isNumber(key) ? "number" : typeName(key))));
  // Keys of several kinds have no order in Python either: they stay as they are.
  return kinds.size > 1 ? pairs : pairs.sort(([a], [b]) => (a === null || b === null ? 0 : order(a, b)));
}

function scalar(item: Item, isFlow: boolean): string | undefined {
  if (item === null) return "null";
  if (typeof item === "string") return scalarText(item, isFlow);
  if (isNumber(item)) return numberText(item);
  if (item instanceof Uint8Array) return `!!binary |\n  ${Buffer.from(item).toString("base64")}`;
  return undefined;
}

function flow(item: Item): string {
  const text = scalar(item, true);
  if (text !== undefined) return text;
  if (item instanceof Map)
    return `{${sortedPairs(item)
      .map(([key, value]) => `${flow(key)}: ${flow(value)}`)
      .join(", ")}}`;
  return `[${rowOf(item).map(flow).join(", ")}]`;
}

function rowOf(item: Item): readonly Item[] {
  if (Array.isArray(item) || item instanceof Tuple) return iterate(item);
  if (item instanceof Series && item.kind !== "generator")
    throw raised("TypeError", `cannot represent an object of type ${item.kind}`);
  throw raised("TypeError", `cannot represent an object of type ${typeName(item)}`);
}

function isEmpty(item: Item): boolean {
  return item instanceof Map ? item.size === 0 : rowOf(item).length === 0;
}

/** Lines of a map or list that stands at `indent`. A list under a key stands under its letters, as PyYAML writes it. */
function block(item: Item, indent: number): string[] {
  const pad = " ".repeat(indent);
  if (item instanceof Map) {
    return sortedPairs(item).flatMap(([key, value]) => {
      const head = `${pad}${scalar(key, false) ?? flow(key)}:`;
      const text = scalar(value, false) ?? (isEmpty(value) ? flow(value) : undefined);
      if (text !== undefined) return [`${head} ${text}`];
      return [head, ...block(value, value instanceof Map ? indent + 2 : indent)];
    });
  }
  return rowOf(item).flatMap((member) => {
    const text = scalar(member, false) ?? (isEmpty(member) ? flow(member) : undefined);
    if (text !== undefined) return [`${pad}- ${text}`];
    const [first = "", ...rest] = block(member, indent + 2);
    return [`${pad}- ${first.slice(indent + 2)}`, ...rest];
  });
}

/** What the filter `yaml` gives. @throws PILLAR_FAILED for what has no form in YAML */
export function dumpYaml(item: Item, isFlow: boolean): string {
  const text = scalar(item, false);
  if (text !== undefined) return text;
  return isFlow || isEmpty(item) ? flow(item) : block(item, 0).join("\n");
}
