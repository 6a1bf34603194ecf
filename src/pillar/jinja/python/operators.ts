/** Python's operators: arithmetic, concatenation, items and slices. Integers stay exact, and `/` always gives a float. */

import { pillarTextBytesMax, templatePowerBitsMax } from "../../../limits.ts";
import { formatPercent } from "../../../python/format/percent.ts";
import { reprOf } from "../../../python/repr.ts";
import { characters } from "../../../python/text.ts";
import {
  asNumber,
  demand,
  getKey,
  type Item,
  isFloat,
  isInteger,
  isNumber,
  itemOr,
  lengthOf,
  Series,
  Tuple,
  typeName,
} from "../../../python/values.ts";
import { Float, floatItem, intItem } from "../../../wire/values.ts";
import type { BinaryOperator } from "../syntax/ast.ts";
import { fault, typeFault, Undefined } from "../values/objects.ts";

type Numeric = number | bigint | Float | boolean;

function integerOf(item: Numeric): bigint {
  return typeof item === "boolean" ? BigInt(item ? 1 : 0) : BigInt(item instanceof Float ? item.value : item);
}

const divisionByZero = () => typeFault("division by zero");

function integerPower(base: bigint, exponent: bigint): Item {
  if (exponent < 0n) return floatItem(Number(base) ** Number(exponent));
  const bits = BigInt(base.toString(2).length) * exponent;
  if (bits > templatePowerBitsMax) throw typeFault("the result of ** is too large");
  return intItem(base ** exponent);
}

function integerResult(operator: BinaryOperator, a: bigint, b: bigint): Item {
  switch (operator) {
    case "+":
      return intItem(a + b);
    case "-":
      return intItem(a - b);
    case "*":
      return intItem(a * b);
    case "**":
      return integerPower(a, b);
    case "/":
      if (b === 0n) throw divisionByZero();
      return floatItem(Number(a) / Number(b));
    default: {
      if (b === 0n) throw typeFault(operator === "%" ? "integer modulo by zero" : "integer division or modulo by zero");
      const remainder = a % b;
      const isBelow = remainder !== 0n && remainder < 0n !== b < 0n;
      if (operator === "%") return intItem(isBelow ? remainder + b : remainder);
      return intItem(isBelow ? a / b - 1n : a / b);
    }
  }
}

function floatResult(operator: BinaryOperator, a: number, b: number): Item {
  switch (operator) {
    case "+":
      return floatItem(a + b);
    case "-":
      return floatItem(a - b);
    case "*":
      return floatItem(a * b);
    case "**":
      return floatItem(a ** b);
    case "/":
      if (b === 0) throw typeFault("float division by zero");
      return floatItem(a / b);
    default: {
      if (b === 0) throw typeFault(operator === "%" ? "float modulo" : "float floor division by zero");
      const remainder = a % b;
      const modulo = remainder !== 0 && remainder < 0 !== b < 0 ? remainder + b : remainder;
      return floatItem(operator === "%" ? modulo : Math.floor((a - modulo) / b + 0.5));
    }
  }
}

function numericResult(operator: BinaryOperator, a: Numeric, b: Numeric): Item {
  if (isFloat(a) || isFloat(b)) return floatResult(operator, asNumber(a), asNumber(b));
  if (typeof a === "number" && typeof b === "number" && operator !== "/" && operator !== "**") {
    const isPlain = operator === "+" || operator === "-" || operator === "*";
    const quick = operator === "+" ? a + b : operator === "-" ? a - b : a * b;
    if (isPlain && Number.isSafeInteger(quick)) return quick === 0 ? 0 : quick;
  }
  return integerResult(operator, integerOf(a), integerOf(b));
}

function repeated(item: Item, times: Item): Item | undefined {
  if (!isInteger(times) && typeof times !== "boolean") return undefined;
  const count = Math.max(0, Number(times));
  if (typeof item !== "string" && !Array.isArray(item) && !(item instanceof Tuple)) return undefined;
  const size = typeof item === "string" ? item.length : lengthOf(item);
  if (size * count > pillarTextBytesMax) throw typeFault("the result of * is too large");
  if (typeof item === "string") return item.repeat(count);
  const members = Array.isArray(item) ? item : item.items;
  const all = Array.from({ length: count }, () => members).flat();
  return Array.isArray(item) ? all : new Tuple(all);
}

const operatorNames: Partial<Record<BinaryOperator, string>> = { "**": "** or pow()" };

/** @throws PILLAR_FAILED where Python raises */
export function binary(operator: BinaryOperator, a: Item, b: Item): Item {
  demand(a);
  if (operator === "%" && typeof a === "string") return formatPercent(a, b);
  demand(b);
  if (isNumber(a) && isNumber(b)) return numericResult(operator, a, b);
  if (operator === "+") {
    if (typeof a === "string" && typeof b === "string") return a + b;
    if (Array.isArray(a) && Array.isArray(b)) return [...a, ...b];
    if (a instanceof Tuple && b instanceof Tuple) return new Tuple([...a.items, ...b.items]);
    if (typeof a === "string") throw typeFault(`can only concatenate str (not "${typeName(b)}") to str`);
    if (Array.isArray(a)) throw typeFault(`can only concatenate list (not "${typeName(b)}") to list`);
  }
  if (operator === "*") {
    const product = repeated(a, b) ?? repeated(b, a);
    if (product !== undefined) return product;
  }
  const name = operatorNames[operator] ?? operator;
  throw typeFault(`unsupported operand type(s) for ${name}: '${typeName(a)}' and '${typeName(b)}'`);
}

export function negated(item: Item): Item {
  demand(item);
  if (item instanceof Float) return new Float(-item.value);
  if (typeof item === "number") return item === 0 ? 0 : -item;
  if (typeof item === "bigint") return -item;
  if (typeof item === "boolean") return item ? -1 : 0;
  throw typeFault(`bad operand type for unary -: '${typeName(item)}'`);
}

export function positive(item: Item): Item {
  demand(item);
  if (isNumber(item)) return typeof item === "boolean" ? Number(item) : item;
  throw typeFault(`bad operand type for unary +: '${typeName(item)}'`);
}

/** The type's name in Jinja's messages. */
function objectName(item: Item): string {
  if (item === null) return "None";
  return `${typeName(item)} object`;
}

export function missingMember(object: Item, name: string): Undefined {
  const shown = object === null ? "'None'" : `'${objectName(object)}'`;
  return new Undefined(`${shown} has no attribute '${name}'`);
}

function missingElement(object: Item, key: Item): Undefined {
  return typeof key === "string"
    ? missingMember(object, key)
    : new Undefined(`${objectName(object)} has no element ${reprOf(key)}`);
}

/** `object[key]` of maps and sequences; undefined if the object has no items. */
export function itemOf(object: Item, key: Item): Item | undefined {
  if (object instanceof Map) return itemOr(getKey(object, key), () => missingElement(object, key));
  const members = rowOf(object);
  if (members === undefined || !(isInteger(key) || typeof key === "boolean")) return undefined;
  const index = Number(key);
  return itemOr(members[index < 0 ? members.length + index : index], () => missingElement(object, key));
}

function rowOf(object: Item): readonly Item[] | undefined {
  if (Array.isArray(object)) return object;
  if (object instanceof Tuple) return object.items;
  if (typeof object === "string") return characters(object);
  if (object instanceof Series && object.kind === "range") return object.items;
  return object instanceof Uint8Array ? [...object] : undefined;
}

function bound(item: Item | undefined, fallback: number, length: number, lowest: number): number {
  if (item === undefined || item === null) return fallback;
  if (!isInteger(item) && typeof item !== "boolean")
    throw typeFault("slice indices must be integers or None or have an __index__ method");
  const index = Number(item);
  const fromStart = index < 0 ? index + length : index;
  return Math.min(Math.max(fromStart, lowest), lowest < 0 ? length - 1 : length);
}

/** `object[start:stop:step]` */
export function slice(object: Item, start: Item | undefined, stop: Item | undefined, step: Item | undefined): Item {
  demand(object);
  const row = rowOf(object);
  if (row === undefined) return new Undefined(`${objectName(object)} has no element slice`);
  const stride = step === undefined || step === null ? 1 : Number(isInteger(step) ? step : Number.NaN);
  if (Number.isNaN(stride)) throw typeFault("slice indices must be integers or None or have an __index__ method");
  if (stride === 0) throw fault("python", "slice step cannot be zero");
  const { length } = row;
  const isForward = stride > 0;
  const first = bound(start, isForward ? 0 : length - 1, length, isForward ? 0 : -1);
  const last = bound(stop, isForward ? length : -1, length, isForward ? 0 : -1);
  const picked: Item[] = [];
  for (let index = first; isForward ? index < last : index > last; index += stride) {
    const member = row[index];
    if (member !== undefined) picked.push(member);
  }
  if (typeof object === "string") return picked.join("");
  if (object instanceof Uint8Array) return Uint8Array.from(picked as number[]);
  return object instanceof Tuple ? new Tuple(picked) : picked;
}
