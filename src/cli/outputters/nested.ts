/** The default outputter: indented keys and values. Source: Salt's behaviour, retold in docs/compatibility.md. */

import { sortedAsText } from "../../python/key-order.ts";
import { reprOf, strOf } from "../../python/repr.ts";
import { hideEscapes, splitLines } from "../../python/text.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { type Paint, paintFor } from "./colours.ts";

type NestedOptions = {
  readonly colour: boolean;
  /** Not 0: keys, dashes and list marks turn red. */
  readonly retcode?: number;
  /** Keys in the order in which they came, as Python keeps those of ordered maps. */
  readonly isOrdered?: boolean;
  /** Column of the outermost level. */
  readonly indent?: number;
};

/** One document without a final line end. */
export function renderNested(value: Value, options: NestedOptions): string {
  const writer = new NestedWriter(options);
  writer.write(value, options.indent ?? 0, "");
  return writer.lines.join("\n");
}

class NestedWriter {
  readonly lines: string[] = [];
  readonly #paint: Paint;
  readonly #keyColour: string;
  readonly #markColour: string;
  readonly #isOrdered: boolean;

  constructor(options: NestedOptions) {
    this.#isOrdered = options.isOrdered === true;
    this.#paint = paintFor(options.colour);
    const isFailed = (options.retcode ?? 0) !== 0;
    this.#keyColour = isFailed ? this.#paint.red : this.#paint.cyan;
    this.#markColour = isFailed ? this.#paint.red : this.#paint.green;
  }

  /** `lead` is `- ` for a member of a list. */
  write(value: Value, indent: number, lead: string): void {
    if (typeof value === "string") this.#writeText(value, indent, lead);
    else if (Array.isArray(value)) this.#writeList(value, indent);
    else if (value instanceof Map) this.#writeMap(value, indent);
    else this.#line(indent, this.#paint.boldYellow, lead + reprOf(value));
  }

  #line(indent: number, colour: string, text: string, after = ""): void {
    this.lines.push(" ".repeat(indent) + colour + text + this.#paint.end + after);
  }

  /** Continuation lines stand under the first one's text, not under its mark. */
  #writeText(text: string, indent: number, lead: string): void {
    let mark = lead;
    for (const line of splitLines(text)) {
      this.#line(indent, this.#paint.green, mark + hideEscapes(line));
      mark = " ".repeat(lead.length);
    }
  }

  #writeList(list: readonly Value[], indent: number): void {
    for (const member of list) {
      if (Array.isArray(member) || member instanceof Map) {
        this.#line(indent, this.#markColour, "|_");
        this.write(member, indent + 2, "");
      } else {
        this.write(member, indent, "- ");
      }
    }
  }

  #writeMap(map: ValueMap, indent: number): void {
    if (indent > 0) this.#line(indent, this.#keyColour, "----------");
    for (const [key, member] of this.#isOrdered ? map : sortedAsText(map)) {
      this.#line(indent, this.#keyColour, hideEscapes(strOf(key)), ":");
      this.write(member, indent + 4, "");
    }
  }
}
