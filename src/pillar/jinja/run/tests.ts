/** Jinja's tests, `value is name`, with Salt's `match` and `list`. */

import { strOf } from "../../../python/repr.ts";
import {
  contains,
  demand,
  type Item,
  isEqual,
  isFloat,
  isInteger,
  isNumber,
  isTrue,
  iterate,
  lengthOf,
  order,
} from "../../../python/values.ts";
import type { FilterHost } from "../filters/host.ts";
import { filterNames } from "../filters/registry.ts";
import { binary } from "../python/operators.ts";
import { bind } from "../values/arguments.ts";
import { type CallArguments, Callable, fault, Members, Undefined } from "../values/objects.ts";
import { withSearch } from "../values/search.ts";

type Test = readonly [signature: string, holds: (input: Item, other: Item, rest: readonly Item[]) => boolean];

function isIterable(input: Item): boolean {
  if (isNumber(input) || input === null || input instanceof Callable || input instanceof Members) return false;
  demand(input);
  return true;
}

const remainder = (input: Item, by: Item) => binary("%", input, by);
const equals: Test = ["other", isEqual];
const less: Test = ["other", (a, b) => order(a, b) < 0];
const more: Test = ["other", (a, b) => order(a, b, ">") > 0];
const atMost: Test = ["other", (a, b) => order(a, b, "<=") <= 0];
const atLeast: Test = ["other", (a, b) => order(a, b, ">=") >= 0];
const differs: Test = ["other", (a, b) => !isEqual(a, b)];

const tests: Readonly<Record<string, Test>> = {
  "!=": differs,
  "<": less,
  "<=": atMost,
  "==": equals,
  ">": more,
  ">=": atLeast,
  boolean: ["", (input) => typeof input === "boolean"],
  callable: ["", (input) => input instanceof Callable],
  defined: ["", (input) => !(input instanceof Undefined)],
  divisibleby: ["num", (input, by) => isEqual(remainder(input, by), 0)],
  eq: equals,
  equalto: equals,
  even: ["", (input) => isEqual(remainder(input, 2), 0)],
  false: ["", (input) => input === false],
  float: ["", (input) => isFloat(input)],
  ge: atLeast,
  greaterthan: more,
  gt: more,
  in: ["seq", (input, seq) => contains(seq, input)],
  integer: ["", (input) => isInteger(input)],
  iterable: ["", isIterable],
  le: atMost,
  lessthan: less,
  list: ["", (input) => Array.isArray(input)],
  lower: ["", (input) => strOf(input) === strOf(input).toLowerCase() && strOf(input) !== strOf(input).toUpperCase()],
  lt: less,
  mapping: ["", (input) => input instanceof Map],
  match: [
    "rgx ignorecase? multiline?",
    (input, rgx, [ignoresCase = false, isMultiline = false]) =>
      withSearch(
        strOf(rgx),
        { ignoresCase: isTrue(ignoresCase), isMultiline: isTrue(isMultiline) },
        (search) => search.findAtStart(strOf(input)) !== undefined,
      ),
  ],
  ne: differs,
  none: ["", (input) => input === null],
  number: ["", (input) => isNumber(input)],
  odd: ["", (input) => isEqual(remainder(input, 2), 1)],
  sequence: ["", (input) => typeof input !== "number" && isSequence(input)],
  string: ["", (input) => typeof input === "string"],
  true: ["", (input) => input === true],
  undefined: ["", (input) => input instanceof Undefined],
  upper: ["", (input) => strOf(input) === strOf(input).toUpperCase() && strOf(input) !== strOf(input).toLowerCase()],
};

/** Whether the input has a length and items. */
function isSequence(input: Item): boolean {
  if (input instanceof Undefined || input === null || isNumber(input)) return false;
  if (input instanceof Map || typeof input === "string" || Array.isArray(input)) return true;
  return !(input instanceof Callable || input instanceof Members) && iterate(input).length === lengthOf(input);
}

const isKnown = (name: string) => Object.hasOwn(tests, name) || name === "filter" || name === "test";

/** @throws PILLAR_FAILED for an unknown test, and any error of the test */
export function applyTest(_host: FilterHost, name: string, input: Item, args: CallArguments): boolean {
  if (name === "filter") return filterNames().includes(strOf(input));
  if (name === "test") return isKnown(strOf(input));
  if (name === "sameas" || name === "escaped") throw fault("template", `the test '${name}' is not supported`);
  const test = Object.hasOwn(tests, name) ? tests[name] : undefined;
  if (test === undefined) throw fault("template", `No test named '${name}'.`);
  const [signature, holds] = test;
  const bound = bind(name, signature, args);
  const [other, ...rest] = signature === "" ? [] : signature.split(" ").map((part) => part.replace("?", ""));
  return holds(
    input,
    other === undefined ? null : bound.need(other),
    rest.map((part) => bound.get(part) ?? false),
  );
}
