/** The `pprint` outputter: Python notation within 80 columns, keys sorted. Source: documentation and behaviour of Python's pprint module. */

import { sortedEntries } from "../../python/key-order.ts";
import { reprBytes, reprOf, reprText } from "../../python/repr.ts";
import { blankClass, compareText, splitLinesWithEnds, textLength } from "../../python/text.ts";
import { Float, type Value, type ValueMap } from "../../wire/values.ts";

const pageWidth = 80;
/** Bytes of a group. Literals of bytes are broken only between groups. */
const bytesGroup = 4;

/** `indent`: the columns of a level, 1 by default. */
export function renderPprint(value: Value, indent = 1): string {
  return new Page(Math.max(indent, 0)).format(sortDeep(value), { column: 0, reserved: 0, isTop: true });
}

/** The column where a value starts, and the columns for closing brackets and commas after it. */
type Place = { readonly column: number; readonly reserved: number; readonly isTop?: boolean };

class Page {
  readonly #step: number;

  constructor(step: number) {
    this.#step = step;
  }

  format(value: Value, place: Place): string {
    const line = reprOf(value);
    if (textLength(line) <= pageWidth - place.column - place.reserved) return line;
    if (typeof value === "string") return inPlace(textChunks, value, place) ?? line;
    if (value instanceof Uint8Array)
      return value.length > bytesGroup ? (inPlace(bytesChunks, value, place) ?? line) : line;
    if (Array.isArray(value)) return this.#list(value, place);
    return value instanceof Map ? this.#map(value, place) : line;
  }

  #list(list: readonly Value[], place: Place): string {
    const column = place.column + this.#step;
    const members = list.map((member, index) => {
      const reserved = index === list.length - 1 ? place.reserved + 1 : 1;
      return this.format(member, { column, reserved });
    });
    return `[${this.#gap()}${members.join(`,\n${" ".repeat(column)}`)}]`;
  }

  #map(map: ValueMap, place: Place): string {
    const column = place.column + this.#step;
    const members = [...map].map(([key, member], index) => {
      const name = `${reprOf(key)}: `;
      const reserved = index === map.size - 1 ? place.reserved + 1 : 1;
      return name + this.format(member, { column: column + textLength(name), reserved });
    });
    return `{${this.#gap()}${members.join(`,\n${" ".repeat(column)}`)}}`;
  }

  #gap(): string {
    return " ".repeat(Math.max(this.#step - 1, 0));
  }
}

/** Writes a value that is cut into several literals, one a line; at the top level in parentheses. */
function inPlace<T>(
  cut: (value: T, width: number, reserved: number) => string[],
  value: T,
  place: Place,
): string | undefined {
  const inset = place.isTop ? 1 : 0;
  const column = place.column + inset;
  const chunks = cut(value, pageWidth - column, place.reserved + inset);
  if (chunks.length < 2) return undefined;
  const literals = chunks.join(`\n${" ".repeat(column)}`);
  return place.isTop ? `(${literals})` : literals;
}

/** Splits a text at line ends, then long lines at words. `reserved` columns stay free after the last piece. */
function textChunks(text: string, width: number, reserved: number): string[] {
  const chunks: string[] = [];
  const lines = splitLinesWithEnds(text);
  lines.forEach((line, index) => {
    const isLastLine = index === lines.length - 1;
    const literal = reprText(line);
    if (textLength(literal) <= width - (isLastLine ? reserved : 0)) chunks.push(literal);
    else for (const chunk of wordChunks(line, width, isLastLine ? reserved : 0)) chunks.push(chunk);
  });
  return chunks;
}

function wordChunks(line: string, width: number, reserved: number): string[] {
  const words = line.match(wordWithBlanks) ?? [];
  return gather(words, "", (left, right) => left + right, reprText, width, reserved);
}

const wordWithBlanks = new RegExp(`[^${blankClass}]+[${blankClass}]*|[${blankClass}]+`, "gu");

function bytesChunks(bytes: Uint8Array, width: number, reserved: number): string[] {
  const groups: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; start += bytesGroup) groups.push(bytes.subarray(start, start + bytesGroup));
  // Python reserves columns only for a group that starts at the last multiple of four. If the length is such a multiple, no group does.
  const counted = bytes.length % bytesGroup === 0 ? 0 : reserved;
  return gather(groups, new Uint8Array(), (left, right) => Buffer.concat([left, right]), reprBytes, width, counted);
}

/** Joins pieces as long as their literal fits. */
function gather<T extends { readonly length: number }>(
  pieces: readonly T[],
  empty: T,
  join: (left: T, right: T) => T,
  literal: (piece: T) => string,
  width: number,
  reserved: number,
): string[] {
  const chunks: string[] = [];
  let current = empty;
  pieces.forEach((piece, index) => {
    const candidate = join(current, piece);
    const room = index === pieces.length - 1 ? width - reserved : width;
    if (textLength(literal(candidate)) > room) {
      if (current.length > 0) chunks.push(literal(current));
      current = piece;
    } else {
      current = candidate;
    }
  });
  if (current.length > 0) chunks.push(literal(current));
  return chunks;
}

/** Sorts keys at every level, so that `reprOf` prints them sorted. */
function sortDeep(value: Value): Value {
  if (Array.isArray(value)) return value.map(sortDeep);
  if (!(value instanceof Map)) return value;
  return new Map((sortedEntries(value) ?? sortedByType(value)).map(([key, member]) => [key, sortDeep(member)]));
}

/** For keys that cannot be compared: orders them by the names of their types, and within a type by value. */
function sortedByType(map: ValueMap): [Value, Value][] {
  const groups = new Map<string, ValueMap>();
  for (const [key, member] of map) {
    const group = groups.get(typeOf(key)) ?? new Map();
    groups.set(typeOf(key), group.set(key, member));
  }
  const names = [...groups.keys()].sort(compareText);
  return names.flatMap((name) => {
    const group = groups.get(name) ?? new Map();
    return sortedEntries(group) ?? [...group];
  });
}

function typeOf(key: Value): string {
  if (key === null) return "NoneType";
  if (typeof key === "string") return "str";
  if (key instanceof Uint8Array) return "bytes";
  return typeof key === "object" && !(key instanceof Float) ? "tuple" : "int";
}
