/**
 * Splits one line of YAML 1.1 into tokens by the rules of libyaml, which PyYAML and Salt use.
 * The `yaml` package reads `[-]`, `{a:{}}` and `[?a]` otherwise: docs/decisions/0026-yaml-words.md.
 * Source: https://yaml.org/spec/1.1/ chapters 5 to 9, and what Salt answered, recorded in test/golden/yamlify.json.
 */

export type Token =
  | { readonly kind: Mark }
  | { readonly kind: "anchor" | "alias"; readonly name: string }
  | { readonly kind: "tag"; readonly handle: string; readonly suffix: string }
  | { readonly kind: "scalar"; readonly text: string; readonly isPlain: boolean };
export type Mark =
  | "document"
  | "["
  | "]"
  | "{"
  | "}"
  | ","
  | "-"
  | "?"
  | ":"
  | "blockList"
  | "blockMap"
  | "blockEnd"
  | "end";

/** Thrown for a text that libyaml, PyYAML or Salt refuse. Never leaves this folder. */
export class Unreadable extends Error {}

/** Longest key without a leading `?`, characters. */
const simpleKeyMax = 1024;
/** Characters that libyaml accepts, without line ends. */
const readable = /^[\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u;

/** Tokens that are a key if a `:` follows. `tokenIndex`: the first of them. */
type SimpleKey = { tokenIndex: number; at: number; isRequired: boolean };

/** @throws Unreadable */
export function tokensOf(line: string): Token[] {
  if (!readable.test(line)) throw new Unreadable();
  return new Scanner(line.replace(/^\ufeff/, "")).scan();
}

class Scanner {
  readonly #text: readonly string[];
  readonly #tokens: Token[] = [];
  /** The possible key of each level of brackets. */
  readonly #keys: (SimpleKey | undefined)[] = [undefined];
  /** Levels below this one hold no possible key. Keys of outer levels are older, so they exceed `simpleKeyMax` first. */
  #firstFreshLevel = 0;
  readonly #indents: number[] = [];
  #indent = -1;
  #at = 0;
  #isKeyAllowed = true;

  constructor(line: string) {
    this.#text = [...line];
  }

  scan(): Token[] {
    for (;;) {
      while (this.#peek() === " ") this.#at += 1;
      if (this.#peek() === "#") this.#at = this.#text.length;
      this.#forgetStaleKeys();
      const character = this.#peek();
      if (character === undefined) break;
      this.#fetch(character);
    }
    this.#unroll(-1);
    this.#dropKey();
    this.#tokens.push({ kind: "end" });
    return this.#tokens;
  }

  #peek(ahead = 0): string | undefined {
    return this.#text[this.#at + ahead];
  }

  #isBlankAt(ahead: number): boolean {
    const character = this.#peek(ahead);
    return character === undefined || character === " ";
  }

  get #isFlow(): boolean {
    return this.#keys.length > 1;
  }

  #fetch(character: string): void {
    if (this.#at === 0 && this.#fetchDocumentMark()) return;
    if (character === "[" || character === "{") this.#open(character);
    else if (character === "]" || character === "}") this.#close(character);
    else if (character === ",") this.#mark(",", true);
    else if (character === "-" && this.#isBlankAt(1)) this.#blockMark("-", "blockList");
    else if (character === "?" && (this.#isFlow || this.#isBlankAt(1))) this.#blockMark("?", "blockMap");
    else if (character === ":" && (this.#isFlow || this.#isBlankAt(1))) this.#value();
    else if (character === "*" || character === "&") this.#named(character === "*" ? "alias" : "anchor");
    else if (character === "!") this.#tag();
    else if (character === "'" || character === '"') this.#scalar(() => this.#quoted(character), false);
    else if (this.#startsPlain(character)) this.#scalar(() => this.#plain(), true);
    // The text of a block scalar begins on its second line. On one line it is empty.
    else if ((character === "|" || character === ">") && !this.#isFlow) this.#emptyBlockScalar();
    else throw new Unreadable();
  }

  #fetchDocumentMark(): boolean {
    const start = this.#text.slice(0, 3).join("");
    // Both need a second line: a directive for its document, and `...` because it ends a document without content.
    if (start.startsWith("%") || (start === "..." && this.#isBlankAt(3))) throw new Unreadable();
    if (start !== "---" || !this.#isBlankAt(3)) return false;
    this.#tokens.push({ kind: "document" });
    this.#isKeyAllowed = false;
    this.#at += 3;
    return true;
  }

  #startsPlain(character: string): boolean {
    if (character === "-") return true;
    if (character === "?" || character === ":") return !this.#isFlow;
    return !",[]{}#&*!|>'\"%@`".includes(character);
  }

  #mark(kind: Mark, isKeyAllowed: boolean): void {
    this.#dropKey();
    this.#isKeyAllowed = isKeyAllowed;
    this.#tokens.push({ kind });
    this.#at += 1;
  }

  #open(kind: "[" | "{"): void {
    this.#noteKey();
    this.#keys.push(undefined);
    this.#isKeyAllowed = true;
    this.#tokens.push({ kind });
    this.#at += 1;
  }

  #close(kind: "]" | "}"): void {
    this.#dropKey();
    if (this.#isFlow) this.#keys.pop();
    this.#isKeyAllowed = false;
    this.#tokens.push({ kind });
    this.#at += 1;
  }

  #blockMark(kind: "-" | "?", block: "blockList" | "blockMap"): void {
    if (!this.#isFlow) {
      if (!this.#isKeyAllowed) throw new Unreadable();
      this.#roll(this.#at, this.#tokens.length, block);
    }
    this.#mark(kind, kind === "-" || !this.#isFlow);
  }

  /** Reads a `:`. The possible key before it becomes a key; without one, the entry has an empty key. */
  #value(): void {
    const key = this.#keys.at(-1);
    if (key) {
      this.#tokens.splice(key.tokenIndex, 0, { kind: "?" });
      this.#roll(key.at, key.tokenIndex, "blockMap");
      this.#keys[this.#keys.length - 1] = undefined;
      this.#isKeyAllowed = false;
    } else {
      if (!this.#isFlow) {
        if (!this.#isKeyAllowed) throw new Unreadable();
        this.#roll(this.#at, this.#tokens.length, "blockMap");
      }
      this.#isKeyAllowed = !this.#isFlow;
    }
    this.#tokens.push({ kind: ":" });
    this.#at += 1;
  }

  #scalar(read: () => string, isPlain: boolean): void {
    this.#noteKey();
    this.#isKeyAllowed = false;
    this.#tokens.push({ kind: "scalar", text: read(), isPlain });
  }

  #plain(): string {
    let text = "";
    let blanks = "";
    for (;;) {
      if (this.#peek() === "#") return text;
      const start = this.#at;
      while (!this.#isBlankAt(0) && !this.#endsPlain()) this.#at += 1;
      if (this.#at > start) text += blanks + this.#text.slice(start, this.#at).join("");
      if (this.#peek() !== " ") return text;
      blanks = "";
      while (this.#peek() === " ") {
        blanks += " ";
        this.#at += 1;
      }
    }
  }

  #endsPlain(): boolean {
    const character = this.#peek() ?? "";
    const next = this.#peek(1);
    if (character === ":") {
      if (this.#isFlow && next !== undefined && ",?[]{}".includes(next)) throw new Unreadable();
      return this.#isBlankAt(1);
    }
    return this.#isFlow && ",[]{}".includes(character);
  }

  #quoted(quote: string): string {
    let text = "";
    for (this.#at += 1; ; this.#at += 1) {
      const character = this.#peek();
      if (character === undefined) throw new Unreadable();
      if (character === quote && quote === "'" && this.#peek(1) === "'") {
        text += "'";
        this.#at += 1;
      } else if (character === quote) {
        this.#at += 1;
        return text;
      } else if (character === "\\" && quote === '"') {
        text += this.#escape();
      } else {
        text += character;
      }
    }
  }

  /** Stops at the last character of the escape. */
  #escape(): string {
    this.#at += 1;
    const letter = this.#peek() ?? "";
    const simple = escapes.get(letter);
    if (simple !== undefined) return simple;
    const width = hexWidths.get(letter);
    if (width === undefined) throw new Unreadable();
    const digits = this.#text.slice(this.#at + 1, this.#at + 1 + width).join("");
    const code = /^[0-9a-fA-F]+$/.test(digits) && digits.length === width ? Number.parseInt(digits, 16) : -1;
    if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) throw new Unreadable();
    this.#at += width;
    return String.fromCodePoint(code);
  }

  #named(kind: "anchor" | "alias"): void {
    this.#noteKey();
    this.#isKeyAllowed = false;
    this.#at += 1;
    const name = this.#take(/^[0-9A-Za-z_-]$/);
    if (name === "" || !(this.#isBlankAt(0) || "?:,]}%@`".includes(this.#peek() ?? ""))) throw new Unreadable();
    this.#tokens.push({ kind, name });
  }

  #take(pattern: RegExp): string {
    const start = this.#at;
    while (pattern.test(this.#peek() ?? "")) this.#at += 1;
    return this.#text.slice(start, this.#at).join("");
  }

  #tag(): void {
    this.#noteKey();
    this.#isKeyAllowed = false;
    const tag = this.#peek(1) === "<" ? this.#verbatimTag() : this.#shortTag();
    if (!this.#isBlankAt(0) && !(this.#isFlow && this.#peek() === ",")) throw new Unreadable();
    this.#tokens.push({ kind: "tag", ...tag });
  }

  #verbatimTag(): { handle: string; suffix: string } {
    this.#at += 2;
    const suffix = decodePercent(this.#take(/^[0-9A-Za-z_\-;/?:@&=+$.%!~*'(),[\]]$/));
    if (suffix === "" || this.#peek() !== ">") throw new Unreadable();
    this.#at += 1;
    return { handle: "", suffix };
  }

  #shortTag(): { handle: string; suffix: string } {
    this.#at += 1;
    const name = this.#take(/^[0-9A-Za-z_-]$/);
    const uriCharacter = /^[0-9A-Za-z_\-;/?:@&=+$.%!~*'()]$/;
    if (this.#peek() === "!") {
      this.#at += 1;
      const suffix = decodePercent(this.#take(uriCharacter));
      if (suffix === "") throw new Unreadable();
      return { handle: `!${name}!`, suffix };
    }
    const suffix = name + decodePercent(this.#take(uriCharacter));
    return suffix === "" ? { handle: "", suffix: "!" } : { handle: "!", suffix };
  }

  #emptyBlockScalar(): void {
    this.#dropKey();
    this.#isKeyAllowed = true;
    this.#at += 1;
    const header = this.#take(/^[-+1-9]$/);
    if (!/^(?:[-+][1-9]?|[1-9][-+]?)?$/.test(header)) throw new Unreadable();
    while (this.#peek() === " ") this.#at += 1;
    if (this.#peek() !== undefined && this.#peek() !== "#") throw new Unreadable();
    this.#at = this.#text.length;
    this.#tokens.push({ kind: "scalar", text: "", isPlain: false });
  }

  #noteKey(): void {
    if (!this.#isKeyAllowed) return;
    this.#dropKey();
    const isRequired = !this.#isFlow && this.#indent === this.#at;
    const level = this.#keys.length - 1;
    this.#keys[level] = { tokenIndex: this.#tokens.length, at: this.#at, isRequired };
    this.#firstFreshLevel = Math.min(this.#firstFreshLevel, level);
  }

  #dropKey(): void {
    if (this.#keys.at(-1)?.isRequired) throw new Unreadable();
    this.#keys[this.#keys.length - 1] = undefined;
  }

  /** Drops keys that are too long. Visits each level once: a visit for each token would take minutes for a word of brackets only. */
  #forgetStaleKeys(): void {
    for (; this.#firstFreshLevel < this.#keys.length; this.#firstFreshLevel += 1) {
      const key = this.#keys[this.#firstFreshLevel];
      if (key && key.at + simpleKeyMax >= this.#at) return;
      this.#keys[this.#firstFreshLevel] = undefined;
    }
  }

  #roll(column: number, tokenIndex: number, kind: "blockList" | "blockMap"): void {
    if (this.#isFlow || this.#indent >= column) return;
    this.#indents.push(this.#indent);
    this.#indent = column;
    this.#tokens.splice(tokenIndex, 0, { kind });
  }

  #unroll(column: number): void {
    while (!this.#isFlow && this.#indent > column) {
      this.#tokens.push({ kind: "blockEnd" });
      this.#indent = this.#indents.pop() ?? -1;
    }
  }
}

const escapes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "0": "\0",
    a: "\x07",
    b: "\b",
    t: "\t",
    n: "\n",
    v: "\v",
    f: "\f",
    r: "\r",
    e: "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    N: "\x85",
    _: "\xa0",
    L: "\u2028",
    P: "\u2029",
  }),
);
const hexWidths: ReadonlyMap<string, number> = new Map(Object.entries({ x: 2, u: 4, U: 8 }));

function decodePercent(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw new Unreadable("percent escapes that are not UTF-8", { cause: error });
  }
}
