/** How Python reads values: truth, equality, whole numbers, type names. Salt's functions depend on it in their results and messages. */
import { pythonText } from "../../target/python-text.ts";
import { type Encodable, Ext, Float, type Value, type ValueMap } from "../../wire/values.ts";
import { argumentError, pythonException } from "../functions/function-errors.ts";

export { pythonText };

/** `repr(value)`. */
export function pythonRepr(value: Value): string {
  return pythonText([value]).slice(1, -1);
}

/** `bool(value)`. */
export function isTruthy(value: Value): boolean {
  if (value === null || typeof value === "boolean") return value === true;
  if (typeof value === "string" || Array.isArray(value)) return value.length > 0;
  if (value instanceof Uint8Array) return value.byteLength > 0;
  if (value instanceof Map) return value.size > 0;
  if (value instanceof Ext) return true;
  return numberOf(value) !== 0;
}

/** Whether Salt takes a word for "yes": a number above zero, or the text `true` in any case. */
export function isYes(value: Value): boolean {
  const number = typeof value === "string" ? numericText(value) : numberOf(value);
  if (number !== undefined) return number > 0;
  return typeof value === "string" ? value.toLowerCase() === "true" : isTruthy(value);
}

function numericText(text: string): number | undefined {
  return /^\s*[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?\s*$/i.test(text) ? Number(text) : undefined;
}

/** The number that a bool, int or float is in Python's arithmetic; undefined for anything else. */
export function numberOf(value: Value): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "bigint") return Number(value);
  return value instanceof Float ? value.value : undefined;
}

/** `type(value).__name__`. */
export function typeName(value: Value): string {
  if (value === null) return "NoneType";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "str";
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  if (value instanceof Float) return "float";
  if (value instanceof Uint8Array) return "bytes";
  if (Array.isArray(value)) return "list";
  return value instanceof Map ? "dict" : "ExtType";
}

/** A Python float: a number that stays apart from the int of the same value. */
export function float(value: number): number | Float {
  return Number.isInteger(value) ? new Float(value) : value;
}

/** A whole number of any size, as small as its value allows. */
export function integer(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** `int(value)`: numbers are cut, text must be a whole number. @throws as Python does */
export function wholeNumber(value: Value): number {
  const number = numberOf(value);
  if (number !== undefined) {
    if (Number.isNaN(number)) throw pythonException("ValueError", "cannot convert float NaN to integer");
    if (!Number.isFinite(number)) throw pythonException("OverflowError", "cannot convert float infinity to integer");
    return Math.trunc(number);
  }
  if (typeof value !== "string") {
    const wanted = "a string, a bytes-like object or a real number";
    throw argumentError(`int() argument must be ${wanted}, not '${typeName(value)}'`);
  }
  if (/^\s*[-+]?\d+(_\d+)*\s*$/.test(value)) return Number(value.replaceAll("_", ""));
  throw pythonException("ValueError", `invalid literal for int() with base 10: ${pythonRepr(value)}`);
}

/** `left == right`: numbers and bools compare by value, containers by content. */
export function isEqual(left: Value, right: Value): boolean {
  const leftNumber = numberOf(left);
  const rightNumber = numberOf(right);
  if (typeof left === "bigint" || typeof right === "bigint") return left === right;
  if (leftNumber !== undefined || rightNumber !== undefined) return leftNumber === rightNumber;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((member, index) => isEqual(member, right[index] ?? null));
  }
  if (left instanceof Map && right instanceof Map) return isEqualMap(left, right);
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.compare(left, right) === 0;
  return left === right;
}

function isEqualMap(left: ValueMap, right: ValueMap): boolean {
  if (left.size !== right.size) return false;
  for (const [key, value] of left) {
    const other = right.get(key);
    if (other === undefined || !isEqual(value, other)) return false;
  }
  return true;
}

/** `value in list`. */
export function listHolds(list: readonly Value[], value: Value): boolean {
  return list.some((member) => isEqual(member, value));
}

/** What a function returned, as the value that the wire would carry: plain objects become maps. */
export function asValue(encodable: Encodable): Value {
  if (encodable === undefined || encodable === null) return null;
  if (typeof encodable !== "object") return encodable;
  if (encodable instanceof Uint8Array || encodable instanceof Float || encodable instanceof Ext) return encodable;
  if (Array.isArray(encodable)) return encodable.map(asValue);
  if (encodable instanceof Map) {
    return new Map(Array.from(encodable, ([key, value]): [Value, Value] => [asValue(key), asValue(value)]));
  }
  const map: ValueMap = new Map();
  for (const [key, value] of Object.entries(encodable)) if (value !== undefined) map.set(key, asValue(value));
  return map;
}

/** A copy that shares no container with the original. */
export function copyOf<Kind extends Value>(value: Kind): Kind {
  return asValue(value) as Kind;
}
