/** The facts of one source file that the tidy tests check: imports, functions and their lengths, comments. */
import { parseSync } from "oxc-parser";

export type FunctionPlace = {
  readonly line: number;
  readonly lineCount: number;
  readonly calledBy: string | undefined;
  /** A declared function, or one that a constant holds. */
  readonly isNamed: boolean;
  /** Parameters and body without comments, with each run of white space as one blank. */
  readonly code: string;
};
export type CommentPlace = {
  readonly line: number;
  readonly text: string;
  /** A doc block that follows another one with nothing between them. */
  readonly isSecondDoc: boolean;
};
type TextPlace = { readonly text: string; readonly line: number };
export type SourceFacts = {
  readonly lineCount: number;
  readonly specifiers: readonly string[];
  readonly functions: readonly FunctionPlace[];
  readonly comments: readonly CommentPlace[];
  /** Text of strings and templates, with their lines. */
  readonly strings: readonly TextPlace[];
  /** Titles of `describe` and `it`. */
  readonly titles: readonly TextPlace[];
  /** Text of a doc comment that only a `#!` line precedes. */
  readonly opening: string | undefined;
  readonly emptyCatchLines: readonly number[];
  /** `console.x` and `process.env`, with their lines. */
  readonly globals: readonly { readonly name: string; readonly line: number }[];
};

/** The part of a syntax tree's node that the walk needs. */
type Node = { readonly type: string; readonly start: number; readonly end: number } & Readonly<Record<string, unknown>>;

const functionTypes = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

function* childrenOf(node: Node): Generator<Node> {
  for (const member of Object.values(node)) {
    for (const child of Array.isArray(member) ? member : [member]) if (isNode(child)) yield child;
  }
}

/** `describe` in `describe("x", () => {})`; the object in `assert.throws(...)` does not matter. */
function calleeName(node: Node): string | undefined {
  const callee = node.type === "CallExpression" ? node.callee : undefined;
  return isNode(callee) && typeof callee.name === "string" ? callee.name : undefined;
}

/** Code of the title in `it("title", ..)`, `bed.it(..)` or `describe(..)`. */
function titleOf(node: Node, text: string): string | undefined {
  const callee = node.type === "CallExpression" ? node.callee : undefined;
  if (!isNode(callee) || !Array.isArray(node.arguments)) return undefined;
  const name = text.slice(callee.start, callee.end);
  const [title]: unknown[] = node.arguments;
  return /^(?:\w+\.)?(?:describe|it)$/.test(name) && isNode(title) ? text.slice(title.start, title.end) : undefined;
}

function memberName(node: Node): string | undefined {
  if (node.type !== "MemberExpression") return undefined;
  const { object, property } = node;
  const isNamed = isNode(object) && isNode(property) && object.type === "Identifier";
  return isNamed ? `${String(object.name)}.${String(property.name)}` : undefined;
}

function specifierOf(node: Node): string | undefined {
  const source = node.source;
  const isModule = /^(?:Import|Export)/.test(node.type) && isNode(source) && typeof source.value === "string";
  return isModule && isNode(source) ? String(source.value) : undefined;
}

function isEmptyCatch(node: Node, text: string): boolean {
  const body = node.type === "CatchClause" ? node.body : undefined;
  return isNode(body) && text.slice(body.start + 1, body.end - 1).trim() === "";
}

/** Functions are alike if their code is equal: their own names do not count, names of their parameters do. */
function codeOf(node: Node, text: string): string {
  const first = Array.isArray(node.params) ? node.params.find(isNode) : undefined;
  const from = first ?? node.body;
  const code = isNode(from) ? text.slice(from.start, node.end) : "";
  return code
    .replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "")
    .replace(/\s+/g, " ")
    .trim();
}

function stringOf(node: Node): string | undefined {
  if (node.type === "Literal" && typeof node.value === "string") return node.value;
  const { value } = node;
  if (node.type !== "TemplateElement" || typeof value !== "object" || value === null || !("cooked" in value))
    return undefined;
  return typeof value.cooked === "string" ? value.cooked : undefined;
}

type Comment = { readonly type: string; readonly value: string; readonly start: number; readonly end: number };

/** The opening comment describes the file; a second block belongs to the code after it. */
function commentPlaces(comments: readonly Comment[], text: string, lineOf: (offset: number) => number): CommentPlace[] {
  const isDoc = ({ type, value }: Comment) => type === "Block" && value.startsWith("*");
  return comments.map((comment, index) => {
    const before = comments[index - 1];
    const isSecondDoc =
      index > 1 &&
      before !== undefined &&
      isDoc(before) &&
      isDoc(comment) &&
      text.slice(before.end, comment.start).trim() === "";
    return { line: lineOf(comment.start), text: comment.value, isSecondDoc };
  });
}

/** Parses a file. @throws Error if it isn't TypeScript */
export function readSource(path: string, text: string): SourceFacts {
  const { program, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const lineStarts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  const lineOf = (offset: number) => lineStarts.findLastIndex((start) => start <= offset) + 1;
  const specifiers: string[] = [];
  const functions: FunctionPlace[] = [];
  const strings: TextPlace[] = [];
  const titles: TextPlace[] = [];
  const emptyCatchLines: number[] = [];
  const globals: { name: string; line: number }[] = [];
  const walk = (node: Node, parent: Node | undefined) => {
    const line = lineOf(node.start);
    const specifier = specifierOf(node);
    if (specifier !== undefined) specifiers.push(specifier);
    if (functionTypes.has(node.type)) {
      const lineCount = lineOf(node.end) - line + 1;
      const isNamed = node.type === "FunctionDeclaration" || parent?.type === "VariableDeclarator";
      functions.push({ line, lineCount, calledBy: parent && calleeName(parent), isNamed, code: codeOf(node, text) });
    }
    const string = stringOf(node);
    if (string !== undefined) strings.push({ text: string, line });
    const title = titleOf(node, text);
    if (title !== undefined) titles.push({ text: title, line });
    if (isEmptyCatch(node, text)) emptyCatchLines.push(line);
    const member = memberName(node);
    if (member === "process.env" || member?.startsWith("console.")) globals.push({ name: member, line });
    for (const child of childrenOf(node)) walk(child, node);
  };
  walk(program as unknown as Node, undefined);
  const first = comments[0];
  const isOpening =
    first?.value.startsWith("*") &&
    text
      .slice(0, first.start)
      .replace(/^#!.*\n/, "")
      .trim() === "";
  const lineCount = text.endsWith("\n") ? lineStarts.length - 1 : lineStarts.length;
  return {
    lineCount,
    specifiers,
    functions,
    comments: commentPlaces(comments, text, lineOf),
    strings,
    titles,
    opening: isOpening ? first?.value : undefined,
    emptyCatchLines,
    globals,
  };
}
