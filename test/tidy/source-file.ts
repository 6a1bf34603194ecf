/** What the tidy test wants to know of one source file: its imports, its functions and their lengths, its first comment. */
import { parseSync } from "oxc-parser";

export type FunctionPlace = {
  readonly line: number;
  readonly lineCount: number;
  readonly calledBy: string | undefined;
  /** Parameters and body without comments, blanks made one. */
  readonly code: string;
};
export type CommentPlace = {
  readonly line: number;
  readonly text: string;
  /** A doc block that follows another one with nothing between them. */
  readonly isSecondDoc: boolean;
};
export type SourceFacts = {
  readonly lineCount: number;
  readonly specifiers: readonly string[];
  readonly functions: readonly FunctionPlace[];
  readonly comments: readonly CommentPlace[];
  /** Text of strings and templates, with their lines. */
  readonly strings: readonly { readonly text: string; readonly line: number }[];
  /** Text of a doc comment that stands before everything but a `#!` line. */
  readonly opening: string | undefined;
  readonly emptyCatchLines: readonly number[];
  /** `console.x` and `process.env`, with their lines. */
  readonly globals: readonly { readonly name: string; readonly line: number }[];
};

/** Any node of the tree: what the walk needs of it. */
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

/** `describe` in `describe("x", () => {})`; the object's member in `assert.throws(...)` is of no interest. */
function calleeName(node: Node): string | undefined {
  const callee = node.type === "CallExpression" ? node.callee : undefined;
  return isNode(callee) && typeof callee.name === "string" ? callee.name : undefined;
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

/** Two functions with the same code do the same: names of the functions do not count, those of their parameters do. */
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

/** The opening comment says what the file is; the block after it belongs to what follows. */
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
  const strings: { text: string; line: number }[] = [];
  const emptyCatchLines: number[] = [];
  const globals: { name: string; line: number }[] = [];
  const walk = (node: Node, parent: Node | undefined) => {
    const line = lineOf(node.start);
    const specifier = specifierOf(node);
    if (specifier !== undefined) specifiers.push(specifier);
    if (functionTypes.has(node.type)) {
      const lineCount = lineOf(node.end) - line + 1;
      functions.push({ line, lineCount, calledBy: parent && calleeName(parent), code: codeOf(node, text) });
    }
    const string = stringOf(node);
    if (string !== undefined) strings.push({ text: string, line });
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
    opening: isOpening ? first?.value : undefined,
    emptyCatchLines,
    globals,
  };
}
