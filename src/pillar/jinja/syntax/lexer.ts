/** Splits a template into tokens: copied text, and the contents of `{{ }}` and `{% %}`. Source: Jinja 3.1's lexer, its default delimiters. */
import { fault } from "../values/objects.ts";

export type Token = { readonly line: number } & (
  | { readonly kind: "data" | "name" | "string" | "operator"; readonly text: string }
  | { readonly kind: "integer" | "float"; readonly text: string }
  | { readonly kind: "blockBegin" | "blockEnd" | "variableBegin" | "variableEnd" | "end"; readonly text: string }
);

/** `trim_blocks` removes the line break after a tag, `lstrip_blocks` the blanks before a tag that starts its line. */
export type LexerOptions = { readonly trimBlocks: boolean; readonly lstripBlocks: boolean };

/** An error at a line of the template. */
export function syntaxFault(message: string, line: number): Error {
  const error = fault("template", message);
  return Object.assign(error, { line });
}

const opener = /\{([%{#])([-+]?)/g;
const rawOpener = /^\s*raw\s*(-?)%\}/;
const rawCloser = /\{%([-+]?)\s*endraw\s*([-+]?)%\}/g;
const operators = /^(?:\/\/|\*\*|==|!=|>=|<=|[-+/*%~[\](){}<>=.:|,;])/;
const floatPattern = /^(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?[eE][+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/;
const integerPattern = /^(?:0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[\da-fA-F])+|[1-9](?:_?\d)*|0(?:_?0)*)/;
const namePattern = /^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*/u;
const stringPattern = /^(?:'([^'\\]*(?:\\.[^'\\]*)*)'|"([^"\\]*(?:\\.[^"\\]*)*)")/s;
const closers: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/** Resolves Python's escapes; unknown ones stay as they are. */
function unescaped(text: string): string {
  const named: Readonly<Record<string, string>> = {
    "\n": "",
    "\\": "\\",
    "'": "'",
    '"': '"',
    a: "\x07",
    b: "\b",
    f: "\f",
    n: "\n",
    r: "\r",
    t: "\t",
    v: "\v",
  };
  return text.replace(
    /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})|([\s\S]))/g,
    (whole, hex, short, long, octal, letter: string | undefined) => {
      const code = hex ?? short ?? long;
      if (code !== undefined) {
        const point = Number.parseInt(code, 16);
        return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
      }
      if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
      return named[letter ?? ""] ?? whole;
    },
  );
}

class Lexer {
  readonly #source: string;
  readonly #options: LexerOptions;
  readonly #tokens: Token[] = [];
  #at = 0;
  #line = 1;

  constructor(source: string, options: LexerOptions) {
    this.#source = source;
    this.#options = options;
  }

  run(): readonly Token[] {
    while (this.#at < this.#source.length) this.#root();
    this.#tokens.push({ kind: "end", text: "", line: this.#line });
    return this.#tokens;
  }

  #advance(length: number): void {
    for (let index = this.#at; index < this.#at + length; index += 1) {
      if (this.#source.charCodeAt(index) === 10) this.#line += 1;
    }
    this.#at += length;
  }

  /** Reads text up to the next opening mark, then the tag. */
  #root(): void {
    opener.lastIndex = this.#at;
    const found = opener.exec(this.#source);
    const end = found?.index ?? this.#source.length;
    const [whole = "", kind = "", sign = ""] = found ?? [];
    this.#data(this.#source.slice(this.#at, end), kind, sign);
    this.#advance(end - this.#at);
    if (found === null) return;
    const raw = kind === "%" ? rawOpener.exec(this.#source.slice(end + whole.length)) : null;
    this.#advance(whole.length);
    if (raw !== null) this.#raw(raw[0].length, raw[1] === "-");
    else if (kind === "#") this.#comment();
    else this.#code(kind === "%" ? "block" : "variable");
  }

  /** `{%-` removes the blanks before it. `lstrip_blocks` removes those from the start of the line, unless `{%+` keeps them. */
  #data(text: string, kind: string, sign: string): void {
    let kept = text;
    if (sign === "-") kept = text.replace(/\s+$/, "");
    else if (sign !== "+" && this.#options.lstripBlocks && (kind === "%" || kind === "#")) {
      const lineStart = text.lastIndexOf("\n") + 1;
      const isAtLineStart = lineStart > 0 || this.#at === 0 || this.#source[this.#at - 1] === "\n";
      if (isAtLineStart && /^\s*$/.test(text.slice(lineStart))) kept = text.slice(0, lineStart);
    }
    if (kept !== "") this.#tokens.push({ kind: "data", text: kept, line: this.#line });
  }

  /** After a tag, `-` removes all blanks, `trim_blocks` one line break. */
  #skipAfter(sign: string, isBlock: boolean): void {
    const rest = /^\s+/.exec(this.#source.slice(this.#at))?.[0] ?? "";
    if (sign === "-") this.#advance(rest.length);
    else if (sign !== "+" && isBlock && this.#options.trimBlocks && this.#source[this.#at] === "\n") this.#advance(1);
  }

  #comment(): void {
    const end = this.#source.indexOf("#}", this.#at);
    if (end < 0) throw syntaxFault("Missing end of comment tag", this.#line);
    const sign = this.#source[end - 1] ?? "";
    this.#advance(end + 2 - this.#at);
    this.#skipAfter(sign, true);
  }

  #raw(openLength: number, isTrimmed: boolean): void {
    const { trimBlocks } = this.#options;
    this.#advance(openLength);
    this.#skipAfter(isTrimmed ? "-" : "", trimBlocks);
    rawCloser.lastIndex = this.#at;
    const close = rawCloser.exec(this.#source);
    if (close === null) throw syntaxFault("Missing end of raw directive", this.#line);
    this.#data(this.#source.slice(this.#at, close.index), "%", close[1] ?? "");
    this.#advance(close.index + close[0].length - this.#at);
    this.#skipAfter(close[2] ?? "", true);
  }

  /** Reads code up to the closing mark. Inside brackets the mark does not count. */
  #code(kind: "block" | "variable"): void {
    this.#tokens.push({ kind: `${kind}Begin`, text: "", line: this.#line });
    const end = kind === "block" ? /^[-+]?%\}/ : /^-?\}\}/;
    const open: string[] = [];
    for (;;) {
      this.#advance(/^\s*/.exec(this.#source.slice(this.#at, this.#at + 4_096))?.[0].length ?? 0);
      const rest = this.#source.slice(this.#at);
      const close = open.length === 0 ? end.exec(rest) : null;
      if (close !== null) {
        this.#tokens.push({ kind: `${kind}End`, text: "", line: this.#line });
        this.#advance(close[0].length);
        this.#skipAfter(close[0].charAt(0), kind === "block");
        return;
      }
      if (rest === "") throw syntaxFault("unexpected end of template", this.#line);
      if (!/^\s/.test(rest)) this.#token(rest, open);
    }
  }

  #token(rest: string, open: string[]): void {
    const { kind, text, length } = nextToken(rest, this.#line);
    if (kind === "operator") {
      const closer = closers[text];
      if (closer !== undefined) open.push(closer);
      else if (text === ")" || text === "]" || text === "}") {
        const expected = open.pop();
        if (expected === undefined) throw syntaxFault(`unexpected '${text}'`, this.#line);
        if (expected !== text) throw syntaxFault(`unexpected '${text}', expected '${expected}'`, this.#line);
      }
    }
    this.#tokens.push({ kind, text, line: this.#line });
    this.#advance(length);
  }
}

type Found = { readonly kind: "name" | "string" | "operator" | "integer" | "float"; text: string; length: number };

function nextToken(rest: string, line: number): Found {
  const float = floatPattern.exec(rest);
  if (float !== null) return { kind: "float", text: float[0].replaceAll("_", ""), length: float[0].length };
  const integer = integerPattern.exec(rest);
  if (integer !== null) return { kind: "integer", text: integer[0].replaceAll("_", ""), length: integer[0].length };
  const name = namePattern.exec(rest);
  if (name !== null) return { kind: "name", text: name[0], length: name[0].length };
  const string = stringPattern.exec(rest);
  if (string !== null)
    return { kind: "string", text: unescaped(string[1] ?? string[2] ?? ""), length: string[0].length };
  const operator = operators.exec(rest);
  if (operator !== null) return { kind: "operator", text: operator[0], length: operator[0].length };
  throw syntaxFault(`unexpected char '${Array.from(rest)[0] ?? ""}'`, line);
}

/** @throws PILLAR_FAILED with the line, for an invalid template */
export function tokenize(source: string, options: LexerOptions): readonly Token[] {
  return new Lexer(source.replaceAll(/\r\n|\r/g, "\n"), options).run();
}
