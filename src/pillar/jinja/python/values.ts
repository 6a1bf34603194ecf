/**
 * The values that a template works with, by Python's rules: what is true, what is equal, what comes first, how it is written.
 * Source: Python 3's language reference; Jinja 3.1's `runtime` for undefined values. No value gives access to JavaScript's own objects.
 */
import { SaltworksError } from "../../../errors.ts";
import { Ext, Float, type Value } from "../../../wire/values.ts";

/** Immutable list, printed in parentheses. */
export class Tuple {
  /** Names of the items, as those of `groupby` have. */
  readonly names: readonly string[];
  readonly items: readonly Item[];
  constructor(items: readonly Item[], names: readonly string[] = []) {
    this.items = items;
    this.names = names;
  }
}

/** A name or member that is not there: `message` is raised by whatever touches it, save `is defined` and `default`. */
export class Undefined {
  readonly message: string;
  /** That of an `a if b` without `else`: empty and false, where others are errors. */
  readonly isLenient: boolean;
  constructor(message: string, isLenient = false) {
    this.message = message;
    this.isLenient = isLenient;
  }
}

/** `set`: what Python would put in no order that lasts; here the items keep theirs. */
export type SeriesKind = "dict_keys" | "dict_values" | "dict_items" | "range" | "generator" | "set";

/** What Python iterates over but is no list: views of maps, ranges, and generators, which can be run through once. */
export class Series {
  readonly kind: SeriesKind;
  readonly items: readonly Item[];
  #isSpent = false;
  constructor(kind: SeriesKind, items: readonly Item[]) {
    this.kind = kind;
    this.items = items;
  }

  take(): readonly Item[] {
    if (this.kind !== "generator") return this.items;
    const isSpent = this.#isSpent;
    this.#isSpent = true;
    return isSpent ? [] : this.items;
  }
}

/** `{% set ns.key = value %}` reaches out of loops with it. */
export class Namespace {
  readonly members = new Map<string, Item>();
}

export type CallArguments = { readonly positional: readonly Item[]; readonly named: ReadonlyMap<string, Item> };

/** Anything that can be called: methods, functions, macros. */
export class Callable {
  readonly name: string;
  readonly call: (args: CallArguments) => Item;
  constructor(name: string, call: (args: CallArguments) => Item) {
    this.name = name;
    this.call = call;
  }
}

/** Something with members and nothing else: `loop`, an imported template, `salt`. `text` is what printing it gives, if it has any. */
export class Members {
  readonly typeName: string;
  readonly get: (name: string) => Item | undefined;
  readonly text: string | undefined;
  constructor(typeName: string, get: (name: string) => Item | undefined, text?: string) {
    this.typeName = typeName;
    this.get = get;
    this.text = text;
  }
}

export type Dict = Map<Item, Item>;
export type Item =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | Float
  | Ext
  | Item[]
  | Dict
  | Tuple
  | Series
  | Undefined
  | Namespace
  | Callable
  | Members;

/** Which of Salt's sentences an error gets: a name that is missing, a template that is wrong, or an exception out of Python's own. */
export type FaultKind = "undefined" | "template" | "python";

/** What a template raises. `file` and `line` are added by whoever knows them first. */
export function fault(kind: FaultKind, message: string): SaltworksError {
  return new SaltworksError("PILLAR_FAILED", message, { kind });
}

export const typeFault = (message: string) => fault("python", message);

export function typeName(item: Item): string {
  if (item === null) return "NoneType";
  if (typeof item === "boolean") return "bool";
  if (isFloat(item)) return "float";
  if (typeof item === "number" || typeof item === "bigint") return "int";
  if (typeof item === "string") return "str";
  if (item instanceof Uint8Array) return "bytes";
  if (Array.isArray(item)) return "list";
  if (item instanceof Map) return "dict";
  if (item instanceof Tuple) return "tuple";
  if (item instanceof Undefined) return "Undefined";
  if (item instanceof Series) return item.kind;
  if (item instanceof Namespace) return "Namespace";
  if (item instanceof Callable) return "function";
  return item instanceof Members ? item.typeName : "ExtType";
}

export function isFloat(item: Item): item is number | Float {
  return item instanceof Float || (typeof item === "number" && !Number.isInteger(item));
}

export function isInteger(item: Item): item is number | bigint {
  return typeof item === "bigint" || (typeof item === "number" && Number.isInteger(item));
}

export function isNumber(item: Item): item is number | bigint | Float | boolean {
  return typeof item === "number" || typeof item === "bigint" || typeof item === "boolean" || item instanceof Float;
}

/** A float in the form in which wire values hold it: integral ones are wrapped. */
export function floatItem(value: number): Item {
  return Number.isInteger(value) ? new Float(value) : value;
}

/** An int in the form in which wire values hold it: a number while that is exact. */
export function intItem(value: bigint): Item {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

export function asNumber(item: number | bigint | Float | boolean): number {
  return item instanceof Float ? item.value : Number(item);
}

/** @throws PILLAR_FAILED for an undefined value */
export function demand<T extends Item>(item: T): Exclude<T, Undefined> {
  if (item instanceof Undefined) throw fault("undefined", item.message);
  return item as Exclude<T, Undefined>;
}

/** Whether it counts as empty. @throws PILLAR_FAILED for the ones that are errors */
export function isEmptyUndefined(item: Item): item is Undefined {
  return item instanceof Undefined && (item.isLenient || demand(item) === undefined);
}

export function isTrue(item: Item): boolean {
  if (item === null) return false;
  if (typeof item === "boolean") return item;
  if (isNumber(item)) return asNumber(item) !== 0;
  if (typeof item === "string") return item.length > 0;
  if (item instanceof Undefined) return !isEmptyUndefined(item);
  if (item instanceof Uint8Array) return item.byteLength > 0;
  if (Array.isArray(item)) return item.length > 0;
  if (item instanceof Map) return item.size > 0;
  if (item instanceof Tuple) return item.items.length > 0;
  if (item instanceof Series) return item.kind === "generator" || item.items.length > 0;
  return true;
}

function equalMaps(a: Dict, b: Dict): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    const other = getKey(b, key);
    if (other === undefined || !isEqual(value, other)) return false;
  }
  return true;
}

function equalLists(a: readonly Item[], b: readonly Item[]): boolean {
  return a.length === b.length && a.every((item, index) => isEqual(item, b[index] ?? null));
}

function equalNumbers(a: number | bigint | Float | boolean, b: number | bigint | Float | boolean): boolean {
  if (typeof a === "bigint" || typeof b === "bigint") return orderNumbers(a, b) === 0;
  return asNumber(a) === asNumber(b);
}

export function isEqual(a: Item, b: Item): boolean {
  demand(a);
  demand(b);
  if (a === b) return !(typeof a === "number" && Number.isNaN(a));
  if (isNumber(a) && isNumber(b)) return equalNumbers(a, b);
  if (Array.isArray(a)) return Array.isArray(b) && equalLists(a, b);
  if (a instanceof Tuple) return b instanceof Tuple && equalLists(a.items, b.items);
  if (a instanceof Map) return b instanceof Map && equalMaps(a, b);
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.from(a).equals(b);
  return false;
}

/** The item, which may well be None; where there is none, what stands in for it. */
export function itemOr(item: Item | undefined, standIn: () => Item): Item {
  return item === undefined ? standIn() : item;
}

/** The value under a key that Python takes for the same; undefined if there is none. @throws PILLAR_FAILED for a key that cannot be one */
export function getKey(map: Dict, key: Item): Item | undefined {
  checkKey(key);
  const direct = map.get(key);
  if (direct !== undefined || typeof key === "string" || key === null) return direct;
  for (const [other, value] of map) if (typeof other !== "string" && isEqual(other, key)) return value;
  return undefined;
}

/** Puts a value, in place of an equal key's. */
export function setKey(map: Dict, key: Item, value: Item): void {
  map.set(sameKey(map, key) ?? key, value);
}

export function deleteKey(map: Dict, key: Item): void {
  map.delete(sameKey(map, key) ?? key);
}

function sameKey(map: Dict, key: Item): Item | undefined {
  checkKey(key);
  if (typeof key === "string" || key === null || map.has(key)) return key;
  for (const other of map.keys()) if (typeof other !== "string" && isEqual(other, key)) return other;
  return undefined;
}

function checkKey(key: Item): void {
  demand(key);
  if (Array.isArray(key) || key instanceof Map) throw typeFault(`unhashable type: '${typeName(key)}'`);
}

/** The characters of a text as Python counts them. */
export function characters(text: string): readonly string[] {
  return Array.from(text);
}

const isAstral = /[\ud800-\udfff]/;

export function textLength(text: string): number {
  return isAstral.test(text) ? characters(text).length : text.length;
}

/** What a loop runs over. @throws PILLAR_FAILED */
export function iterate(item: Item): readonly Item[] {
  if (isEmptyUndefined(item)) return [];
  if (Array.isArray(item)) return item;
  if (item instanceof Tuple) return item.items;
  if (item instanceof Map) return [...item.keys()];
  if (typeof item === "string") return characters(item);
  if (item instanceof Series) return item.take();
  if (item instanceof Uint8Array) return [...item];
  throw typeFault(`'${typeName(item)}' object is not iterable`);
}

export function lengthOf(item: Item): number {
  if (isEmptyUndefined(item)) return 0;
  if (typeof item === "string") return textLength(item);
  if (Array.isArray(item)) return item.length;
  if (item instanceof Map) return item.size;
  if (item instanceof Tuple) return item.items.length;
  if (item instanceof Uint8Array) return item.byteLength;
  if (item instanceof Series && item.kind !== "generator") return item.items.length;
  throw typeFault(`object of type '${typeName(item)}' has no len()`);
}

export function contains(container: Item, item: Item): boolean {
  demand(container);
  if (typeof container === "string") {
    if (typeof item === "string") return container.includes(item);
    throw typeFault(`'in <string>' requires string as left operand, not ${typeName(demand(item))}`);
  }
  if (container instanceof Map) return getKey(container, item) !== undefined;
  if (isNumber(container) || container === null) {
    throw typeFault(`argument of type '${typeName(container)}' is not iterable`);
  }
  if (container instanceof Members) {
    const found = typeof item === "string" ? container.get(item) : undefined;
    return found !== undefined && !(found instanceof Undefined);
  }
  return iterate(container).some((member) => isEqual(member, item));
}

function orderNumbers(a: number | bigint | Float | boolean, b: number | bigint | Float | boolean): number {
  const left = typeof a === "bigint" ? a : asNumber(a);
  const right = typeof b === "bigint" ? b : asNumber(b);
  if (left < right) return -1;
  return left > right ? 1 : 0;
}

/** Text by code point, as Python orders it. */
export function orderTexts(a: string, b: string): number {
  if (a === b) return 0;
  if (!isAstral.test(a) && !isAstral.test(b)) return a < b ? -1 : 1;
  return Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** Negative, zero or positive. @throws PILLAR_FAILED for kinds that Python cannot order */
export function order(a: Item, b: Item, operator = "<"): number {
  demand(a);
  demand(b);
  if (isNumber(a) && isNumber(b)) return orderNumbers(a, b);
  if (typeof a === "string" && typeof b === "string") return orderTexts(a, b);
  const left = a instanceof Tuple ? a.items : Array.isArray(a) ? a : undefined;
  const right = b instanceof Tuple ? b.items : Array.isArray(b) ? b : undefined;
  if (left !== undefined && right !== undefined && Array.isArray(a) === Array.isArray(b)) {
    for (const [index, item] of left.entries()) {
      const other = right[index];
      if (other === undefined) return 1;
      if (!isEqual(item, other)) return order(item, other, operator);
    }
    return left.length - right.length;
  }
  throw typeFault(`'${operator}' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`);
}

/** What leaves a template as data: everything that has a place in a pillar. @throws PILLAR_FAILED */
export function dataOf(item: Item): Value {
  if (item === null || typeof item !== "object" || item instanceof Float || item instanceof Ext) return item;
  if (item instanceof Uint8Array) return item;
  if (item instanceof Tuple || item instanceof Series || Array.isArray(item)) return iterate(item).map(dataOf);
  if (item instanceof Map) return new Map(Array.from(item, ([key, value]) => [dataOf(key), dataOf(value)]));
  demand(item);
  throw typeFault(`a ${typeName(item)} is no data`);
}
