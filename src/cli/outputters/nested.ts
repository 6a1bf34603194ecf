/** The default outputter, `nested`: indented keys and values. Source: docs/compatibility.md, "Outputters". */

import { sortedAsText } from "../../python/key-order.ts";
import { reprOf, strOf } from "../../python/repr.ts";
import { hideEscapes, splitLines } from "../../python/text.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { PaintedLines } from "./painted-lines.ts";

type NestedOptions = {
  readonly colour: boolean;
  /** A code other than 0 turns keys, dashes and list marks red. */
  readonly retcode?: number;
  /** Keeps the order of keys, as Python does for ordered maps. */
  readonly isOrdered?: boolean;
  /** The column of the outermost level. */
  readonly indent?: number;
};

/** Renders one document without a final line end. */
export function renderNested(value: Value, options: NestedOptions): string {
  const writer = new NestedWriter(options);
  writer.write(value, options.indent ?? 0, "");
  return writer.text();
}

class NestedWriter {
  readonly #lines: PaintedLines;
  readonly #keyColour: string;
  readonly #markColour: string;
  readonly #isOrdered: boolean;

  constructor(options: NestedOptions) {
    this.#isOrdered = options.isOrdered === true;
    this.#lines = new PaintedLines(options.colour);
    const isFailed = (options.retcode ?? 0) !== 0;
    this.#keyColour = isFailed ? this.#lines.paint.red : this.#lines.paint.cyan;
    this.#markColour = isFailed ? this.#lines.paint.red : this.#lines.paint.green;
  }

  text(): string {
    return this.#lines.text();
  }

  /** `lead` is `- ` for a member of a list. */
  write(value: Value, indent: number, lead: string): void {
    if (typeof value === "string") this.#writeText(value, indent, lead);
    else if (Array.isArray(value)) this.#writeList(value, indent);
    else if (value instanceof Map) this.#writeMap(value, indent);
    else this.#lines.add(indent, this.#lines.paint.boldYellow, lead + reprOf(value));
  }

  /** Aligns continuation lines with the text of the first line, not with its mark. */
  #writeText(text: string, indent: number, lead: string): void {
    let mark = lead;
    for (const line of splitLines(text)) {
      this.#lines.add(indent, this.#lines.paint.green, mark + hideEscapes(line));
      mark = " ".repeat(lead.length);
    }
  }

  #writeList(list: readonly Value[], indent: number): void {
    for (const member of list) {
      if (Array.isArray(member) || member instanceof Map) {
        this.#lines.add(indent, this.#markColour, "|_");
        this.write(member, indent + 2, "");
      } else {
        this.write(member, indent, "- ");
      }
    }
  }

  #writeMap(map: ValueMap, indent: number): void {
    if (indent > 0) this.#lines.add(indent, this.#keyColour, "----------");
    for (const [key, member] of this.#isOrdered ? map : sortedAsText(map)) {
      this.#lines.add(indent, this.#keyColour, hideEscapes(strOf(key)), ":");
      this.write(member, indent + 4, "");
    }
  }
}
