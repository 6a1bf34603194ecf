/**
 * Writes values as YAML: sorted keys, 80 columns, byte for byte as Salt does through PyYAML and libyaml. No library writes the same
 * bytes: `yaml` folds, quotes and indents by other rules.
 */

import { Float } from "../wire/values.ts";
import { raised } from "./errors.ts";
import { sortedEntries } from "./key-order.ts";
import { reprFloat, reprOf } from "./repr.ts";
import { isNumber, isReadList, isReadMap, type ReadItem, Tuple, typeName } from "./values.ts";
import { isMultiline, type ScalarStyle, textStyle, writeText } from "./yaml-scalar.ts";

/** Folds lines at the first blank beyond this column. */
const pageWidth = 80;
const defaultStep = 2;
/** Longest simple key, bytes of UTF-8; a longer one is written `? key`. */
const simpleKeyBytesMax = 128;
/** Characters of base64 on a line. */
const base64LineWidth = 76;

/**
 * @param indent columns a level, 2 to 9; negative: everything in brackets
 * @throws PYTHON_RAISED for a value without a form in YAML
 */
export function yamlText(value: ReadItem, indent = defaultStep): string {
  const emitter = new Emitter(indent >= 2 && indent <= 9 ? indent : defaultStep, indent < 0);
  emitter.node(value, "root");
  return emitter.text();
}

/** As `yamlText`, with a final line feed, for files. @throws as `yamlText` */
export function yamlFileText(value: ReadItem): string {
  return `${yamlText(value)}\n`;
}

type Context = "root" | "item" | "value" | "simpleKey" | "longKey";
type Scalar = { readonly text: string; readonly style: ScalarStyle | "literal"; readonly tag?: string };

class Emitter {
  readonly #parts: string[] = [];
  readonly #step: number;
  readonly #isFlow: boolean;
  #indent = -1;
  #column = 0;
  #flowLevel = 0;
  /** The last character written was a blank, or the line is empty. */
  #isBlank = true;
  /** This line has only indentation and block marks. */
  #isIndenting = true;

  constructor(step: number, isFlow: boolean) {
    this.#step = step;
    this.#isFlow = isFlow;
  }

  text(): string {
    return this.#parts.join("");
  }

  node(value: ReadItem, context: Context): void {
    const list = value instanceof Tuple ? value.items : value;
    if (isReadList(list)) {
      if (this.#isFlow || this.#flowLevel > 0 || list.length === 0) this.#flowList(list);
      else this.#blockList(list, context);
    } else if (isReadMap(value)) {
      if (this.#isFlow || this.#flowLevel > 0 || value.size === 0) this.#flowMap(value);
      else this.#blockMap(value);
    } else {
      this.#scalar(value, context);
    }
  }

  #blockList(list: readonly ReadItem[], context: Context): void {
    const outer = this.#indent;
    // A list directly under a key keeps the key's column.
    this.#increase(false, (context === "value" || context === "longKey") && !this.#isIndenting);
    for (const member of list) {
      this.#putIndent();
      this.#mark("-", { needsBlank: true, keepsIndenting: true });
      this.node(member, "item");
    }
    this.#indent = outer;
  }

  #blockMap(map: ReadonlyMap<ReadItem, ReadItem>): void {
    const outer = this.#indent;
    this.#increase(false, false);
    for (const [key, member] of entriesOf(map)) {
      this.#putIndent();
      if (this.#isSimpleKey(key)) {
        this.node(key, "simpleKey");
        this.#mark(":", {});
      } else {
        this.#mark("?", { needsBlank: true, keepsIndenting: true });
        this.node(key, "longKey");
        this.#putIndent();
        this.#mark(":", { needsBlank: true, keepsIndenting: true });
      }
      this.node(member, "value");
    }
    this.#indent = outer;
  }

  #flowList(list: readonly ReadItem[]): void {
    this.#flow("[", "]", list, (member) => this.node(member, "item"));
  }

  #flowMap(map: ReadonlyMap<ReadItem, ReadItem>): void {
    this.#flow("{", "}", entriesOf(map), ([key, member]) => {
      if (this.#isSimpleKey(key)) {
        this.node(key, "simpleKey");
        this.#mark(":", {});
      } else {
        this.#mark("?", { needsBlank: true });
        this.node(key, "longKey");
        if (this.#column > pageWidth) this.#putIndent();
        this.#mark(":", { needsBlank: true });
      }
      this.node(member, "value");
    });
  }

  #flow<T>(open: string, close: string, members: readonly T[], write: (member: T) => void): void {
    const outer = this.#indent;
    this.#mark(open, { needsBlank: true, isBlank: true });
    this.#increase(true, false);
    this.#flowLevel += 1;
    members.forEach((member, index) => {
      if (index > 0) this.#mark(",", {});
      if (this.#column > pageWidth) this.#putIndent();
      write(member);
    });
    this.#flowLevel -= 1;
    this.#indent = outer;
    this.#mark(close, {});
  }

  #scalar(value: ReadItem, context: Context): void {
    const isSimpleKey = context === "simpleKey";
    const scalar = scalarOf(value, { isInFlow: this.#flowLevel > 0, isSimpleKey });
    const outer = this.#indent;
    if (scalar.tag) this.#mark(scalar.tag, { needsBlank: true });
    this.#increase(true, false);
    if (scalar.style === "literal") this.#literal(scalar.text);
    else this.#quoted(scalar.text, scalar.style, !isSimpleKey);
    this.#indent = outer;
  }

  #quoted(text: string, style: ScalarStyle, isFoldable: boolean): void {
    const quote = style === "plain" ? "" : style === "single" ? "'" : '"';
    if (!this.#isBlank) this.#put(" ");
    this.#put(quote);
    this.#isIndenting = false;
    writeText(text, style, isFoldable, {
      isPastWidth: () => this.#column > pageWidth,
      put: (piece) => {
        this.#put(piece);
        this.#isIndenting = isMultiline(piece);
      },
      putIndent: () => this.#putIndent(),
    });
    this.#put(quote);
    this.#isBlank = false;
    this.#isIndenting = false;
  }

  #literal(text: string): void {
    this.#mark("|", { needsBlank: true });
    for (const line of text.split("\n")) {
      this.#put("\n");
      if (line !== "") this.#put(" ".repeat(Math.max(this.#indent, 0)) + line);
    }
    this.#isBlank = false;
    this.#isIndenting = false;
  }

  #isSimpleKey(key: ReadItem): boolean {
    if (isReadList(key)) return key.length === 0;
    if (key instanceof Tuple) return key.items.length === 0;
    if (isReadMap(key)) return key.size === 0;
    const { text, tag } = scalarOf(key, { isInFlow: this.#flowLevel > 0, isSimpleKey: false });
    if (isMultiline(text)) return false;
    return Buffer.byteLength(text) + (tag?.length ?? 0) <= simpleKeyBytesMax;
  }

  #increase(isFlow: boolean, isIndentless: boolean): void {
    if (this.#indent < 0) this.#indent = isFlow ? this.#step : 0;
    else if (!isIndentless) this.#indent += this.#step;
  }

  #mark(mark: string, o: { needsBlank?: boolean; isBlank?: boolean; keepsIndenting?: boolean }): void {
    if (o.needsBlank && !this.#isBlank) this.#put(" ");
    this.#put(mark);
    this.#isBlank = o.isBlank ?? false;
    this.#isIndenting &&= o.keepsIndenting ?? false;
  }

  #put(text: string): void {
    if (text === "") return;
    this.#parts.push(text);
    for (const character of text) this.#column = isMultiline(character) ? 0 : this.#column + 1;
  }

  #putIndent(): void {
    const indent = Math.max(this.#indent, 0);
    const isOnNewLine = this.#isIndenting && this.#column <= indent && (this.#column < indent || this.#isBlank);
    if (!isOnNewLine) this.#put("\n");
    this.#put(" ".repeat(indent - this.#column));
    this.#isBlank = true;
    this.#isIndenting = true;
  }
}

function entriesOf(map: ReadonlyMap<ReadItem, ReadItem>): readonly (readonly [ReadItem, ReadItem])[] {
  return sortedEntries(map) ?? [...map];
}

function scalarOf(value: ReadItem, place: { isInFlow: boolean; isSimpleKey: boolean }): Scalar {
  if (typeof value === "string") return { text: value, style: textStyle(value, place) };
  if (!(value instanceof Uint8Array)) return { text: wordOf(value), style: "plain" };
  const base64 = Buffer.from(value).toString("base64");
  if (place.isInFlow || place.isSimpleKey || base64 === "") {
    return { text: base64 === "" ? "" : `${wrap(base64)}\n`, style: "double", tag: "!!binary" };
  }
  return { text: wrap(base64), style: "literal", tag: "!!binary" };
}

function wrap(base64: string): string {
  return (base64.match(new RegExp(`.{1,${base64LineWidth}}`, "g")) ?? []).join("\n");
}

function wordOf(value: ReadItem): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return value ? "true" : "false";
  if (value instanceof Float || (typeof value === "number" && !Number.isInteger(value))) {
    return floatWord(value instanceof Float ? value.value : value);
  }
  if (isNumber(value)) return reprOf(value);
  throw raised("TypeError", `cannot represent an object of type ${typeName(value)}`);
}

/** YAML 1.1 reads `1e+16` as text, so a float gets a dot. */
function floatWord(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? ".nan" : value < 0 ? "-.inf" : ".inf";
  const text = reprFloat(value);
  return text.includes(".") ? text : text.replace("e", ".0e");
}
