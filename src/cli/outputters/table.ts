/** The `table` outputter: lists of rows as tables under their keys. Source: behaviour of Salt 3007, except that all lines of a cell are shown. */

import { sortedEntries } from "../../python/key-order.ts";
import { strOf } from "../../python/repr.ts";
import { hideEscapes, textLength } from "../../python/text.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { PaintedLines } from "./painted-lines.ts";

/** `out.table.*` of the configuration; defaults are Salt's. */
export type TableOptions = {
  readonly hasHeader?: boolean;
  readonly rowDelimiter?: string;
  readonly delim?: string;
  /** center, left or right. */
  readonly justify?: string;
  readonly separateRows?: boolean;
  readonly prefix?: string;
  readonly suffix?: string;
  /** A line of a cell that would reach this width is wrapped at a blank. */
  readonly width?: number;
  /** Shows only rows under this key. */
  readonly rowsKey?: string;
  /** The key of the headers, in the same map as `rowsKey`. */
  readonly labelsKey?: string;
  readonly title?: string;
  /** The column of the outermost key. */
  readonly indent?: number;
};

const levelColumns = 4;
const defaultWidth = 50;

/** Omits data without rows. Returns undefined if a row has no cells or keys cannot be ordered. */
export function renderTable(value: Value, colour: boolean, options: TableOptions = {}): string | undefined {
  const writer = new TableWriter(colour, options);
  return writer.write(value, options.indent ?? 0) ? writer.text() : undefined;
}

class TableWriter {
  readonly #lines: PaintedLines;
  readonly #options: TableOptions;

  constructor(colour: boolean, options: TableOptions) {
    this.#lines = new PaintedLines(colour);
    this.#options = options;
    const { title, rowsKey } = options;
    if (title && rowsKey) this.#lines.add(0, this.#lines.paint.white, hideEscapes(title), "\n");
  }

  text(): string {
    return this.#lines.text();
  }

  /** Returns false for a value that cannot be shown as tables. */
  write(value: Value, indent: number): boolean {
    const { rowsKey } = this.#options;
    if (Array.isArray(value)) return rowsKey !== undefined || this.#rows(value, null, indent);
    if (!(value instanceof Map)) return true;
    const entries = sortedEntries(value);
    if (entries === undefined) return false;
    if (rowsKey === undefined) return entries.every(([key, member]) => this.#entry(key, member, value, indent));
    if (!value.has(rowsKey)) return entries.every(([, member]) => this.write(member, indent));
    return this.#members(value.get(rowsKey) ?? null, value, indent);
  }

  #entry(key: Value, member: Value, map: ValueMap, indent: number): boolean {
    this.#lines.add(indent, this.#lines.paint.darkGray, hideEscapes(strOf(key)), ":");
    this.#lines.add(indent, this.#lines.paint.darkGray, "----------");
    return this.#members(member, map, indent);
  }

  #members(member: Value, map: ValueMap, indent: number): boolean {
    const { labelsKey } = this.#options;
    if (!Array.isArray(member)) return this.write(member, indent + levelColumns);
    return this.#rows(member, labelsKey === undefined ? null : (map.get(labelsKey) ?? null), indent);
  }

  /** Writes a table, or nothing if the rows are of different kinds. Returns false for rows that cannot be shown as a table. */
  #rows(rows: readonly Value[], given: Value, indent: number): boolean {
    const [first] = rows;
    if (first === undefined || rows.some((row) => kindOf(row) !== kindOf(first))) return true;
    const labels = labelsOf(given, first);
    const cells = rows.map(cellsOf);
    if (labels === undefined || cells.some((row) => row === undefined || row.length === 0)) return false;
    const all = [...(labels.length > 0 ? [labels] : []), ...(cells as string[][])];
    this.#table(all, indent + levelColumns, (this.#options.hasHeader ?? true) && labels.length > 0);
    return true;
  }

  #table(rows: readonly (readonly string[])[], indent: number, hasHeader: boolean): void {
    const { separateRows = true, rowDelimiter = "-", delim = " | ", prefix = "| ", suffix = " |" } = this.#options;
    const wrapped = rows.map((row) => physicalRows(row, this.#options.width ?? defaultWidth));
    const columnCount = Math.min(...rows.map((row) => row.length));
    const widths = Array.from({ length: columnCount }, (_, column) =>
      Math.max(...wrapped.flat().map((row) => textLength(row[column] ?? ""))),
    );
    const inner = widths.reduce((sum, width) => sum + width, 0) + textLength(delim) * (columnCount - 1);
    const rule = rowDelimiter.repeat(textLength(prefix) + textLength(suffix) + inner);
    if (separateRows) this.#lines.add(indent, this.#lines.paint.lightGray, rule);
    wrapped.forEach((physical, index) => {
      for (const row of physical) {
        const cells = widths.map((width, column) => justified(row[column] ?? "", width, this.#options.justify));
        this.#lines.add(indent, this.#lines.paint.white, hideEscapes(prefix + cells.join(delim) + suffix));
      }
      if (separateRows || (hasHeader && index === 0)) this.#lines.add(indent, this.#lines.paint.lightGray, rule);
    });
  }
}

function kindOf(row: Value): string {
  if (row instanceof Map) return "map";
  return Array.isArray(row) ? "list" : typeof row;
}

/** The headers of the columns. Empty without headers. Undefined if keys cannot be ordered. */
function labelsOf(given: Value, firstRow: Value): string[] | undefined {
  if (Array.isArray(given) && given.length > 0) return given.map(strOf);
  if (given instanceof Map && given.size > 0) return sortedEntries(given)?.map(([, label]) => strOf(label));
  if (!(firstRow instanceof Map)) return [];
  return sortedEntries(firstRow)?.map(([key]) => titled(strOf(key).replaceAll("_", " ")));
}

function cellsOf(row: Value): string[] | undefined {
  if (row instanceof Map) return sortedEntries(row)?.map(([, cell]) => strOf(cell));
  if (Array.isArray(row)) return row.every((cell) => typeof cell === "string") ? [...row] : undefined;
  return typeof row === "string" ? [row] : undefined;
}

/** Starts each run of letters with a capital, as Python's `str.title` does. */
function titled(text: string): string {
  return text.replaceAll(/\p{L}+/gu, ([first = "", ...rest]) => first.toUpperCase() + rest.join("").toLowerCase());
}

/** Splits a row with cells of several lines into rows of one line. */
function physicalRows(row: readonly string[], width: number): string[][] {
  const cells = row.map((cell) => wrapped(cell, width).split("\n"));
  const lineCount = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: lineCount }, (_, line) => cells.map((lines) => lines[line] ?? ""));
}

/** Starts a new line before each word with which the line would reach the width. */
function wrapped(text: string, width: number): string {
  const [first = "", ...words] = text.split(" ");
  return words.reduce((lines, word) => {
    const lastLine = lines.slice(lines.lastIndexOf("\n") + 1);
    const isFull = textLength(lastLine) + textLength(word.split("\n", 1)[0] ?? "") >= width;
    return lines + (isFull ? "\n" : " ") + word;
  }, first);
}

/** Pads a text to the width. If centring leaves an odd blank, it is on the same side as in Python. */
function justified(text: string, width: number, justify = "center"): string {
  const blankCount = width - textLength(text);
  const side = justify.toLowerCase();
  const left = side === "left" ? 0 : side === "right" ? blankCount : (blankCount >> 1) + (blankCount & width & 1);
  return " ".repeat(left) + text + " ".repeat(blankCount - left);
}
