/** A parser's position in the tokens of one template. */
import { nestingDepthMax } from "../../../limits.ts";
import { syntaxFault, type Token } from "./lexer.ts";

export class TokenReader {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get current(): Token {
    return this.#tokens[this.#at] ?? { kind: "end", text: "", line: 0 };
  }

  next(): Token {
    const token = this.current;
    this.#at += 1;
    return token;
  }

  is(operator: string): boolean {
    return this.current.kind === "operator" && this.current.text === operator;
  }

  isName(name: string): boolean {
    return this.current.kind === "name" && this.current.text === name;
  }

  isNext(operator: string): boolean {
    const token = this.#tokens[this.#at + 1];
    return token?.kind === "operator" && token.text === operator;
  }

  isNextName(name: string): boolean {
    const token = this.#tokens[this.#at + 1];
    return token?.kind === "name" && token.text === name;
  }

  skip(operator: string): boolean {
    if (!this.is(operator)) return false;
    this.#at += 1;
    return true;
  }

  skipName(name: string): boolean {
    if (!this.isName(name)) return false;
    this.#at += 1;
    return true;
  }

  expect(operator: string): void {
    if (!this.skip(operator)) throw this.unexpected(operator);
  }

  expectName(): string {
    if (this.current.kind !== "name") throw this.unexpected("name");
    return this.next().text;
  }

  expectKind(kind: Token["kind"]): void {
    if (this.current.kind !== kind) throw this.unexpected(kindNames[kind] ?? kind);
    this.#at += 1;
  }

  unexpected(expected?: string): Error {
    const { kind, text, line } = this.current;
    const found = kindNames[kind] ?? text;
    if (expected === undefined) return syntaxFault(`unexpected '${found}'`, line);
    return syntaxFault(`expected token '${expected}', got '${found}'`, line);
  }

  /** The error for a tag that ends where an expression is expected. */
  nothing(): Error {
    const { kind, text, line } = this.current;
    return syntaxFault(`Expected an expression, got '${kindNames[kind] ?? text}'`, line);
  }

  /** Line of the last token, which Jinja reports if a template ends too early. */
  get lastLine(): number {
    return this.#tokens.findLast(({ kind }) => kind !== "end")?.line ?? 1;
  }

  /** Runs a parser one level deeper. */
  nested<T>(parse: () => T): T {
    this.#depth += 1;
    if (this.#depth > nestingDepthMax) throw syntaxFault("expressions nested too deep", this.current.line);
    const parsed = parse();
    this.#depth -= 1;
    return parsed;
  }
}

const kindNames: Partial<Record<Token["kind"], string>> = {
  data: "template data / text",
  end: "end of template",
  blockBegin: "begin of statement block",
  blockEnd: "end of statement block",
  variableBegin: "begin of print statement",
  variableEnd: "end of print statement",
};
