/** Evaluates expressions. Errors get the line of the innermost expression that raised them. */

import { hasCode, type SaltworksError } from "../../../errors.ts";
import { strOf } from "../../../python/repr.ts";
import {
  contains,
  type Dict,
  demand,
  type Item,
  isEqual,
  isTrue,
  itemOr,
  iterate,
  order,
  setKey,
  Tuple,
  typeName,
} from "../../../python/values.ts";
import { Float } from "../../../wire/values.ts";
import type { FilterHost } from "../filters/host.ts";
import { applyFilter } from "../filters/registry.ts";
import { attributeOf, callItem, subscriptOf } from "../python/methods-collections.ts";
import { binary, negated, positive, slice } from "../python/operators.ts";
import type { Arguments, CompareOperator, Expression } from "../syntax/ast.ts";
import { asFault, type CallArguments, typeFault, Undefined } from "../values/objects.ts";
import { RecursiveLoop } from "./loop.ts";
import type { Scope } from "./scope.ts";
import { applyTest } from "./tests.ts";

/** Adds the line to an error without one. */
export function atLine<T>(line: number, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw noteLine(error, line);
  }
}

function noteLine(raised: unknown, line: number): unknown {
  const error = asFault(raised);
  if (hasCode(error, "PILLAR_FAILED") && !("line" in (error as object))) Object.assign(error as object, { line });
  return error;
}

/** The line that raised an error; undefined if it is not known. */
export function lineOf(error: SaltworksError): number | undefined {
  return "line" in error && typeof error.line === "number" ? error.line : undefined;
}

export function evaluate(node: Expression, scope: Scope, host: FilterHost): Item {
  try {
    const value = valueIn(node, scope, host);
    const isLoosened = host.isLenient && value instanceof Undefined && !value.isLenient;
    return isLoosened ? new Undefined(value.message, true) : value;
  } catch (error) {
    throw noteLine(error, node.line);
  }
}

function valueIn(node: Expression, scope: Scope, host: FilterHost): Item {
  switch (node.kind) {
    case "constant": {
      const { value } = node;
      if (typeof value !== "object" || value === null) return value;
      return Number.isInteger(value.float) ? new Float(value.float) : value.float;
    }
    case "name":
      return itemOr(scope.get(node.name), () => new Undefined(`'${node.name}' is undefined`));
    case "list":
      return node.items.map((item) => evaluate(item, scope, host));
    case "tuple":
      return new Tuple(node.items.map((item) => evaluate(item, scope, host)));
    case "dict":
      return dictOf(node, scope, host);
    case "attribute":
      return attributeOf(evaluate(node.object, scope, host), node.name);
    case "item":
      return subscriptOf(evaluate(node.object, scope, host), evaluate(node.key, scope, host));
    case "slice": {
      const [start, stop, step] = [node.start, node.stop, node.step].map((part) => part && evaluate(part, scope, host));
      return slice(evaluate(node.object, scope, host), start, stop, step);
    }
    case "call":
      return called(evaluate(node.callee, scope, host), argumentsOf(node.args, scope, host));
    case "filter":
      return applyFilter(host, node.name, evaluate(node.input, scope, host), argumentsOf(node.args, scope, host));
    case "test":
      return applyTest(host, node.name, evaluate(node.input, scope, host), argumentsOf(node.args, scope, host));
    default:
      return operationOf(node, scope, host);
  }
}

type Operation = Extract<Expression, { kind: "unary" | "binary" | "logic" | "compare" | "concat" | "condition" }>;

function operationOf(node: Operation, scope: Scope, host: FilterHost): Item {
  switch (node.kind) {
    case "unary": {
      const operand = evaluate(node.operand, scope, host);
      if (node.operator === "not") return !isTrue(operand);
      return node.operator === "-" ? negated(operand) : positive(operand);
    }
    case "binary":
      return binary(node.operator, evaluate(node.left, scope, host), evaluate(node.right, scope, host));
    case "logic": {
      const left = evaluate(node.left, scope, host);
      return isTrue(left) === (node.operator === "and") ? evaluate(node.right, scope, host) : left;
    }
    case "compare": {
      let left = evaluate(node.first, scope, host);
      for (const { operator, operand } of node.rest) {
        const right = evaluate(operand, scope, host);
        if (!compares(operator, left, right)) return false;
        left = right;
      }
      return true;
    }
    case "concat":
      return node.items.map((item) => strOf(evaluate(item, scope, host))).join("");
    case "condition": {
      if (isTrue(evaluate(node.test, scope, host))) return evaluate(node.whenTrue, scope, host);
      if (node.otherwise !== undefined) return evaluate(node.otherwise, scope, host);
      const place = `the inline if-expression on line ${node.line} evaluated to false and no else section was defined.`;
      return new Undefined(place, true);
    }
  }
}

function compares(operator: CompareOperator, a: Item, b: Item): boolean {
  switch (operator) {
    case "==":
      return isEqual(a, b);
    case "!=":
      return !isEqual(a, b);
    case "in":
      return contains(b, a);
    case "not in":
      return !contains(b, a);
    case "<":
      return order(a, b, operator) < 0;
    case "<=":
      return order(a, b, operator) <= 0;
    case ">":
      return order(a, b, operator) > 0;
    case ">=":
      return order(a, b, operator) >= 0;
  }
}

function dictOf(node: Extract<Expression, { kind: "dict" }>, scope: Scope, host: FilterHost): Dict {
  const map: Dict = new Map();
  for (const [key, value] of node.pairs) setKey(map, evaluate(key, scope, host), evaluate(value, scope, host));
  return map;
}

/** Evaluates a call's arguments. As in Jinja, an undefined argument is passed on and is not an error. */
export function argumentsOf(args: Arguments, scope: Scope, host: FilterHost): CallArguments {
  const positional = args.positional.map((argument) => evaluate(argument, scope, host));
  if (args.spread !== undefined) positional.push(...iterate(evaluate(args.spread, scope, host)));
  const named = new Map(args.named.map(([name, value]): [string, Item] => [name, evaluate(value, scope, host)]));
  if (args.spreadNamed !== undefined) {
    const spread = evaluate(args.spreadNamed, scope, host);
    if (!(spread instanceof Map))
      throw typeFault(`argument after ** must be a mapping, not ${typeName(demand(spread))}`);
    for (const [name, value] of spread) named.set(strOf(name), value);
  }
  return { positional, named };
}

function called(callee: Item, args: CallArguments): Item {
  if (callee instanceof RecursiveLoop) return callee.recurse(args.positional[0] ?? null);
  return callItem(callee, args.positional, args.named);
}
