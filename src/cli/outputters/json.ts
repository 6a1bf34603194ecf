/** The `json` outputter: Python's `json.dumps` without escapes for text beyond ASCII. */

import { sortedEntries } from "../../python/key-order.ts";
import { reprFloat, reprOf } from "../../python/repr.ts";
import { Float, type Value, type ValueMap } from "../../wire/values.ts";

/** Columns of a level. 0: lines without indentation. A negative number or null: one line. "pretty": 4 columns and sorted keys. */
export type JsonIndent = number | null | "pretty";

const defaultIndent = 4;

/** As in Salt, the whole result is `{}` if JSON cannot hold a key or, with "pretty", if keys cannot be sorted. */
export function renderJson(value: Value, indent: JsonIndent = defaultIndent): string {
  const isPretty = indent === "pretty";
  const columns = isPretty ? defaultIndent : (indent ?? -1);
  return jsonOf(value, { columns, isSorted: isPretty }, 0) ?? "{}";
}

type Layout = { readonly columns: number; readonly isSorted: boolean };

/** Returns undefined for a value that JSON cannot hold. */
function jsonOf(value: Value, layout: Layout, depth: number): string | undefined {
  if (value === null) return "null";
  if (typeof value === "boolean") return value ? "true" : "false";
  if (typeof value === "string") return quoteJson(value);
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") return Number.isInteger(value) ? value.toString() : jsonFloat(value);
  if (value instanceof Float) return jsonFloat(value.value);
  if (Array.isArray(value)) return jsonList(value, layout, depth);
  if (value instanceof Map) return jsonMap(value, layout, depth);
  return quoteJson(reprOf(value));
}

/** JSON has no form for NaN and the infinities. Python writes them with JavaScript's names. */
function jsonFloat(value: number): string {
  return Number.isFinite(value) ? reprFloat(value) : String(value);
}

/** JSON.stringify escapes the same characters as Python, and lone surrogates too, which decoded UTF-8 never has. */
function quoteJson(text: string): string {
  return JSON.stringify(text);
}

function jsonList(list: readonly Value[], layout: Layout, depth: number): string | undefined {
  const members: string[] = [];
  for (const member of list) {
    const text = jsonOf(member, layout, depth + 1);
    if (text === undefined) return undefined;
    members.push(text);
  }
  return enclose("[", members, "]", layout, depth);
}

function jsonMap(map: ValueMap, layout: Layout, depth: number): string | undefined {
  const entries = layout.isSorted ? sortedEntries(map) : map;
  if (!entries) return undefined;
  const members: string[] = [];
  for (const [key, member] of entries) {
    const name = jsonKey(key);
    const text = jsonOf(member, layout, depth + 1);
    if (name === undefined || text === undefined) return undefined;
    members.push(`${quoteJson(name)}: ${text}`);
  }
  return enclose("{", members, "}", layout, depth);
}

function jsonKey(key: Value): string | undefined {
  if (typeof key === "string") return key;
  if (key === null || typeof key === "boolean") return String(key);
  if (typeof key === "number" || typeof key === "bigint" || key instanceof Float) return jsonOf(key, flat, 0);
  return undefined;
}

const flat: Layout = { columns: -1, isSorted: false };

function enclose(open: string, members: readonly string[], close: string, layout: Layout, depth: number): string {
  if (members.length === 0) return open + close;
  if (layout.columns < 0) return open + members.join(", ") + close;
  const outer = `\n${" ".repeat(layout.columns * depth)}`;
  const inner = outer + " ".repeat(layout.columns);
  return open + inner + members.join(`,${inner}`) + outer + close;
}
