/** Parses Jinja's expressions with the precedence and forms of Jinja 3.1. */
import type { Arguments, BinaryOperator, CompareOperator, Comparison, Expression } from "./ast.ts";
import { syntaxFault } from "./lexer.ts";
import type { TokenReader } from "./token-reader.ts";

const compareOperators = ["==", "!=", "<", "<=", ">", ">="];
const constants: Readonly<Record<string, null | boolean>> = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
};
export const noArguments: Arguments = { positional: [], named: [], spread: undefined, spreadNamed: undefined };

/** `a if b else c` and everything that binds tighter. */
export function parseExpression(reader: TokenReader, isConditionAllowed = true): Expression {
  return reader.nested(() => (isConditionAllowed ? parseCondition(reader) : parseOr(reader)));
}

function parseCondition(reader: TokenReader): Expression {
  let left = parseOr(reader);
  while (reader.skipName("if")) {
    const { line } = reader.current;
    const test = parseOr(reader);
    const otherwise = reader.skipName("else") ? reader.nested(() => parseCondition(reader)) : undefined;
    left = { kind: "condition", test, whenTrue: left, otherwise, line };
  }
  return left;
}

function parseOr(reader: TokenReader): Expression {
  let left = parseAnd(reader);
  while (reader.skipName("or"))
    left = { kind: "logic", operator: "or", left, right: parseAnd(reader), line: left.line };
  return left;
}

function parseAnd(reader: TokenReader): Expression {
  let left = parseNot(reader);
  while (reader.skipName("and"))
    left = { kind: "logic", operator: "and", left, right: parseNot(reader), line: left.line };
  return left;
}

function parseNot(reader: TokenReader): Expression {
  const { line } = reader.current;
  if (!reader.skipName("not")) return parseCompare(reader);
  return { kind: "unary", operator: "not", operand: reader.nested(() => parseNot(reader)), line };
}

function compareOperator(reader: TokenReader): CompareOperator | undefined {
  const { kind, text } = reader.current;
  if (kind === "operator" && compareOperators.includes(text)) {
    reader.next();
    return text as CompareOperator;
  }
  if (reader.skipName("in")) return "in";
  if (reader.isName("not") && reader.isNextName("in")) {
    reader.next();
    reader.next();
    return "not in";
  }
  return undefined;
}

function parseCompare(reader: TokenReader): Expression {
  const first = parseSum(reader);
  const rest: Comparison[] = [];
  for (let operator = compareOperator(reader); operator !== undefined; operator = compareOperator(reader)) {
    rest.push({ operator, operand: parseSum(reader) });
  }
  return rest.length === 0 ? first : { kind: "compare", first, rest, line: first.line };
}

function binaryRow(reader: TokenReader, operators: readonly string[], operand: () => Expression): Expression {
  let left = operand();
  while (reader.current.kind === "operator" && operators.includes(reader.current.text)) {
    const operator = reader.next().text as BinaryOperator;
    left = { kind: "binary", operator, left, right: operand(), line: left.line };
  }
  return left;
}

function parseSum(reader: TokenReader): Expression {
  return binaryRow(reader, ["+", "-"], () => parseConcat(reader));
}

function parseConcat(reader: TokenReader): Expression {
  const items = [parseProduct(reader)];
  while (reader.skip("~")) items.push(parseProduct(reader));
  const [first] = items;
  if (first === undefined || items.length === 1) return first as Expression;
  return { kind: "concat", items, line: first.line };
}

function parseProduct(reader: TokenReader): Expression {
  return binaryRow(reader, ["*", "/", "//", "%"], () => binaryRow(reader, ["**"], () => parseUnary(reader, true)));
}

/** As in Jinja, a sign binds tighter than `**`, and a filter binds looser than a sign. */
function parseUnary(reader: TokenReader, hasFilters: boolean): Expression {
  const { line } = reader.current;
  let node: Expression;
  if (reader.skip("-"))
    node = { kind: "unary", operator: "-", operand: reader.nested(() => parseUnary(reader, false)), line };
  else if (reader.skip("+"))
    node = { kind: "unary", operator: "+", operand: reader.nested(() => parseUnary(reader, false)), line };
  else node = parsePrimary(reader);
  node = parsePostfix(reader, node);
  return hasFilters ? parseFilters(reader, node) : node;
}

function parsePrimary(reader: TokenReader): Expression {
  const token = reader.current;
  const { line } = token;
  switch (token.kind) {
    case "name": {
      reader.next();
      const constant = Object.hasOwn(constants, token.text) ? constants[token.text] : undefined;
      if (constant !== undefined) return { kind: "constant", value: constant, line };
      return { kind: "name", name: token.text, line };
    }
    case "string": {
      let value = "";
      while (reader.current.kind === "string") value += reader.next().text;
      return { kind: "constant", value, line };
    }
    case "integer": {
      reader.next();
      const value = BigInt(/^0+$/.test(token.text) ? "0" : token.text);
      return { kind: "constant", value: value <= Number.MAX_SAFE_INTEGER ? Number(value) : value, line };
    }
    case "float":
      reader.next();
      return { kind: "constant", value: { float: Number(token.text) }, line };
    default:
      return parseBracketed(reader);
  }
}

function parseBracketed(reader: TokenReader): Expression {
  const { line } = reader.current;
  if (reader.skip("(")) {
    const inner = parseTuple(reader, { isEmptyAllowed: true });
    reader.expect(")");
    return inner;
  }
  if (reader.skip("[")) {
    const items: Expression[] = [];
    while (!reader.skip("]")) {
      if (items.length > 0) reader.expect(",");
      if (reader.skip("]")) break;
      items.push(parseExpression(reader));
    }
    return { kind: "list", items, line };
  }
  if (reader.skip("{")) return parseDict(reader, line);
  throw reader.unexpected();
}

function parseDict(reader: TokenReader, line: number): Expression {
  const pairs: [Expression, Expression][] = [];
  while (!reader.skip("}")) {
    if (pairs.length > 0) reader.expect(",");
    if (reader.skip("}")) break;
    const key = parseExpression(reader);
    reader.expect(":");
    pairs.push([key, parseExpression(reader)]);
  }
  return { kind: "dict", pairs, line };
}

type TupleOptions = {
  readonly isConditionAllowed?: boolean;
  readonly isEmptyAllowed?: boolean;
  /** Names that end the tuple after a comma, such as `in`. */
  readonly endNames?: readonly string[];
};

/** One expression, or a tuple of several. */
export function parseTuple(reader: TokenReader, options: TupleOptions = {}): Expression {
  const { line } = reader.current;
  const items: Expression[] = [];
  let isTuple = false;
  for (;;) {
    if (items.length > 0) {
      if (!reader.skip(",")) break;
      isTuple = true;
    }
    if (endsTuple(reader, options.endNames ?? [])) break;
    items.push(parseExpression(reader, options.isConditionAllowed ?? true));
  }
  const [only] = items;
  if (!isTuple && only !== undefined) return only;
  if (items.length === 0 && options.isEmptyAllowed !== true) throw reader.nothing();
  return { kind: "tuple", items, line };
}

function endsTuple(reader: TokenReader, endNames: readonly string[]): boolean {
  const { kind, text } = reader.current;
  if (kind === "blockEnd" || kind === "variableEnd" || (kind === "operator" && text === ")")) return true;
  return kind === "name" && endNames.includes(text);
}

function parsePostfix(reader: TokenReader, start: Expression): Expression {
  let node = start;
  for (;;) {
    const { line } = reader.current;
    if (reader.skip(".")) node = parseMember(reader, node, line);
    else if (reader.skip("[")) node = parseSubscript(reader, node, line);
    else if (reader.skip("(")) node = { kind: "call", callee: node, args: parseArguments(reader), line };
    else return node;
  }
}

/** `list.0` is an item, not a float. */
function parseMember(reader: TokenReader, object: Expression, line: number): Expression {
  const token = reader.next();
  if (token.kind === "name") return { kind: "attribute", object, name: token.text, line };
  if (token.kind !== "integer") throw syntaxFault("expected name or number", token.line);
  return { kind: "item", object, key: { kind: "constant", value: Number(token.text), line }, line };
}

function parseSubscript(reader: TokenReader, object: Expression, line: number): Expression {
  const start = reader.is(":") ? undefined : parseExpression(reader);
  if (!reader.is(":")) {
    if (start === undefined) throw reader.unexpected();
    const keys = [start];
    while (reader.skip(",")) keys.push(parseExpression(reader));
    reader.expect("]");
    return { kind: "item", object, key: keys.length === 1 ? start : { kind: "tuple", items: keys, line }, line };
  }
  reader.expect(":");
  const stop = reader.is(":") || reader.is("]") ? undefined : parseExpression(reader);
  const step = reader.skip(":") && !reader.is("]") ? parseExpression(reader) : undefined;
  reader.expect("]");
  return { kind: "slice", object, start, stop, step, line };
}

/** Parses a call's arguments and its closing parenthesis. */
function parseArguments(reader: TokenReader): Arguments {
  const positional: Expression[] = [];
  const named: [string, Expression][] = [];
  let spread: Expression | undefined;
  let spreadNamed: Expression | undefined;
  let isFirst = true;
  while (!reader.skip(")")) {
    if (!isFirst) reader.expect(",");
    isFirst = false;
    if (reader.skip(")")) break;
    const { line } = reader.current;
    if (reader.skip("**")) spreadNamed = parseExpression(reader);
    else if (reader.skip("*")) spread = parseExpression(reader);
    else if (reader.current.kind === "name" && reader.isNext("=")) {
      const name = reader.next().text;
      reader.next();
      named.push([name, parseExpression(reader)]);
    } else {
      if (named.length > 0 || spreadNamed !== undefined)
        throw syntaxFault("invalid syntax for function call expression", line);
      positional.push(parseExpression(reader));
    }
  }
  return { positional, named, spread, spreadNamed };
}

/** Parses `|name(...)`, `is name`, and calls of their results. */
function parseFilters(reader: TokenReader, start: Expression): Expression {
  let node = start;
  for (;;) {
    const { line } = reader.current;
    if (reader.skip("|")) node = { kind: "filter", input: node, ...parseFilterName(reader), line };
    else if (reader.isName("is")) node = parseTest(reader, node);
    else if (reader.skip("(")) node = { kind: "call", callee: node, args: parseArguments(reader), line };
    else return node;
  }
}

/** A filter's name, with dots, and arguments. */
export function parseFilterName(reader: TokenReader): { name: string; args: Arguments } {
  let name = reader.expectName();
  while (reader.skip(".")) name += `.${reader.expectName()}`;
  const args = reader.skip("(") ? parseArguments(reader) : noArguments;
  return { name, args };
}

const testStoppers = ["else", "or", "and"];

function parseTest(reader: TokenReader, input: Expression): Expression {
  const { line } = reader.next();
  const isNegated = reader.skipName("not");
  let name = reader.expectName();
  while (reader.skip(".")) name += `.${reader.expectName()}`;
  let args = noArguments;
  if (reader.skip("(")) args = parseArguments(reader);
  else if (startsOperand(reader)) {
    if (reader.isName("is")) throw syntaxFault("You cannot chain multiple tests with is", line);
    const argument = parsePostfix(reader, parsePrimary(reader));
    args = { ...noArguments, positional: [argument] };
  }
  const test: Expression = { kind: "test", name, input, args, line };
  return isNegated ? { kind: "unary", operator: "not", operand: test, line } : test;
}

function startsOperand(reader: TokenReader): boolean {
  const { kind, text } = reader.current;
  if (kind === "name") return !testStoppers.includes(text);
  if (kind === "string" || kind === "integer" || kind === "float") return true;
  return kind === "operator" && ["(", "[", "{"].includes(text);
}
