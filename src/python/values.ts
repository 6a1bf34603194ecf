/**
 * Python's rules for values: truth, equality, order and type names. Pure. Source: Python 3's language
 * reference. No value gives access to JavaScript's own objects.
 */
import { type Ext, Float } from "../wire/values.ts";
import { raised } from "./errors.ts";
import { characters, compareText, textLength } from "./text.ts";

/** Immutable list, printed in parentheses. */
export class Tuple {
  /** Names of the items, as `groupby` gives them. */
  readonly names: readonly string[];
  readonly items: readonly Item[];
  constructor(items: readonly Item[], names: readonly string[] = []) {
    this.items = items;
    this.names = names;
  }
}

/** `set`: unordered in Python; here items keep their order. */
export type SeriesKind = "dict_keys" | "dict_values" | "dict_items" | "range" | "generator" | "set";

/** Iterable values that are not lists: views of maps, ranges, sets, and generators, which run once. */
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

/** An object with its own behaviour, such as a function or an undefined name. Defaults are those of a plain object. */
export abstract class PythonObject {
  abstract readonly typeName: string;

  /** @throws if any use of the object is an error */
  demand(): void {}

  isTrue(): boolean {
    return true;
  }

  /** Whether the object counts as empty in loops and texts. @throws as `demand` */
  isNothing(): boolean {
    return false;
  }

  member(_name: string): Item | undefined {
    return undefined;
  }

  /** `item in object`; undefined if Python would iterate over the object's members. */
  holds(_item: Item): boolean | undefined {
    return undefined;
  }

  /** `repr(object)`. @throws if two runs would print different texts */
  repr(): string {
    throw raised("TypeError", `a ${this.typeName} has no text that is the same in two runs`);
  }
}

export type Numeric = number | bigint | Float | boolean;
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
  | PythonObject;
/** A read-only `Item`, such as a decoded value. */
export type ReadItem = Item | readonly ReadItem[] | ReadonlyMap<ReadItem, ReadItem>;

export function isReadList(item: ReadItem): item is readonly ReadItem[] {
  return Array.isArray(item);
}

export function isReadMap(item: ReadItem): item is ReadonlyMap<ReadItem, ReadItem> {
  return item instanceof Map;
}

/** `type(item).__name__`. */
export function typeName(item: ReadItem): string {
  if (item === null) return "NoneType";
  if (typeof item === "boolean") return "bool";
  if (isFloat(item)) return "float";
  if (typeof item === "number" || typeof item === "bigint") return "int";
  if (typeof item === "string") return "str";
  if (item instanceof Uint8Array) return "bytes";
  if (Array.isArray(item)) return "list";
  if (item instanceof Map) return "dict";
  if (item instanceof Tuple) return "tuple";
  if (item instanceof Series) return item.kind;
  return item instanceof PythonObject ? item.typeName : "ExtType";
}

export function isFloat(item: ReadItem): item is number | Float {
  return item instanceof Float || (typeof item === "number" && !Number.isInteger(item));
}

export function isInteger(item: ReadItem): item is number | bigint {
  return typeof item === "bigint" || (typeof item === "number" && Number.isInteger(item));
}

export function isNumber(item: ReadItem): item is Numeric {
  return typeof item === "number" || typeof item === "bigint" || typeof item === "boolean" || item instanceof Float;
}

export function asNumber(item: Numeric): number {
  return item instanceof Float ? item.value : Number(item);
}

/** The value of a bool, int or float in Python's arithmetic; undefined for other items. */
export function numberOf(item: ReadItem): number | undefined {
  return isNumber(item) ? asNumber(item) : undefined;
}

/** @throws if the item is an undefined name */
export function demand<T extends Item>(item: T): T {
  if (item instanceof PythonObject) item.demand();
  return item;
}

/** Whether the item counts as empty. @throws as `demand` */
export function isNothing(item: ReadItem): item is PythonObject {
  return item instanceof PythonObject && item.isNothing();
}

/** `bool(item)`. */
export function isTrue(item: ReadItem): boolean {
  if (item === null) return false;
  if (typeof item === "boolean") return item;
  if (isNumber(item)) return asNumber(item) !== 0;
  if (typeof item === "string" || Array.isArray(item)) return item.length > 0;
  if (item instanceof Uint8Array) return item.byteLength > 0;
  if (item instanceof Map) return item.size > 0;
  if (item instanceof Tuple) return item.items.length > 0;
  if (item instanceof Series) return item.kind === "generator" || item.items.length > 0;
  return item instanceof PythonObject ? item.isTrue() : true;
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

function equalNumbers(a: Numeric, b: Numeric): boolean {
  if (typeof a === "bigint" || typeof b === "bigint") return orderNumbers(a, b) === 0;
  return asNumber(a) === asNumber(b);
}

/** `a == b`: numbers and bools compare by value, containers by content. */
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

/** Returns the item, also None; if it is undefined, the stand-in. */
export function itemOr(item: Item | undefined, standIn: () => Item): Item {
  return item === undefined ? standIn() : item;
}

/** Returns the value under a key that is equal in Python, or undefined. @throws for a key that Python cannot hash */
export function getKey(map: Dict, key: Item): Item | undefined {
  checkKey(key);
  const direct = map.get(key);
  if (direct !== undefined || typeof key === "string" || key === null) return direct;
  for (const [other, value] of map) if (typeof other !== "string" && isEqual(other, key)) return value;
  return undefined;
}

/** Sets a value; an equal key keeps its place. */
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
  if (Array.isArray(key) || key instanceof Map) throw raised("TypeError", `unhashable type: '${typeName(key)}'`);
}

/** Returns the items that a loop visits. @throws for an item that Python cannot iterate */
export function iterate(item: Item): readonly Item[] {
  if (isNothing(item)) return [];
  if (Array.isArray(item)) return item;
  if (item instanceof Tuple) return item.items;
  if (item instanceof Map) return [...item.keys()];
  if (typeof item === "string") return characters(item);
  if (item instanceof Series) return item.take();
  if (item instanceof Uint8Array) return [...item];
  throw raised("TypeError", `'${typeName(item)}' object is not iterable`);
}

/** `len(item)`. @throws for an item without a length */
export function lengthOf(item: Item): number {
  if (isNothing(item)) return 0;
  if (typeof item === "string") return textLength(item);
  if (Array.isArray(item)) return item.length;
  if (item instanceof Map) return item.size;
  if (item instanceof Tuple) return item.items.length;
  if (item instanceof Uint8Array) return item.byteLength;
  if (item instanceof Series && item.kind !== "generator") return item.items.length;
  throw raised("TypeError", `object of type '${typeName(item)}' has no len()`);
}

/** `item in container`. @throws for an item that is not a container */
export function contains(container: Item, item: Item): boolean {
  demand(container);
  if (typeof container === "string") {
    if (typeof item === "string") return container.includes(item);
    throw raised("TypeError", `'in <string>' requires string as left operand, not ${typeName(demand(item))}`);
  }
  if (container instanceof Map) return getKey(container, item) !== undefined;
  if (isNumber(container) || container === null) {
    throw raised("TypeError", `argument of type '${typeName(container)}' is not iterable`);
  }
  const held = container instanceof PythonObject ? container.holds(item) : undefined;
  return held ?? iterate(container).some((member) => isEqual(member, item));
}

export function orderNumbers(a: Numeric, b: Numeric): number {
  const left = typeof a === "bigint" ? a : asNumber(a);
  const right = typeof b === "bigint" ? b : asNumber(b);
  if (left < right) return -1;
  return left > right ? 1 : 0;
}

/** Negative, zero or positive. @throws for kinds that Python cannot order */
export function order(a: Item, b: Item, operator = "<"): number {
  demand(a);
  demand(b);
  if (isNumber(a) && isNumber(b)) return orderNumbers(a, b);
  if (typeof a === "string" && typeof b === "string") return compareText(a, b);
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
  throw raised("TypeError", `'${operator}' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`);
}
