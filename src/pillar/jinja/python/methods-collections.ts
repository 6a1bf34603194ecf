/** Python's methods of `dict`, `list`, `tuple`, `int` and `float`, and the lookup of members of any value. */
import { reprOf } from "../../../python/repr.ts";
import {
  asNumber,
  type Dict,
  deleteKey,
  demand,
  getKey,
  type Item,
  isEqual,
  isFloat,
  isInteger,
  isTrue,
  itemOr,
  iterate,
  order,
  PythonObject,
  Series,
  setKey,
  Tuple,
  typeName,
} from "../../../python/values.ts";
import { Float } from "../../../wire/values.ts";
import { type Bound, bind } from "../values/arguments.ts";
import { type CallArguments, Callable, fault, typeFault } from "../values/objects.ts";
import { textMethod } from "./methods-text.ts";
import { itemOf, missingMember } from "./operators.ts";

type Method<T> = readonly [signature: string, run: (self: T, args: Bound) => Item];

/** Entries of an argument of `dict()` and `update()`: a map or pairs. */
function entriesOf(source: Item): readonly (readonly [Item, Item])[] {
  if (demand(source) instanceof Map) return [...(source as Dict)];
  return iterate(source).map((pair, index) => {
    const [key, value, ...more] = iterate(pair);
    if (key === undefined || value === undefined || more.length > 0)
      throw typeFault(`dictionary update sequence element #${index} has length ${iterate(pair).length}; 2 is required`);
    return [key, value];
  });
}

/** `dict(...)` and `update(...)`: a map or pairs, then names. */
export function updateDict(target: Dict, args: CallArguments): void {
  const [source, ...more] = args.positional;
  if (more.length > 0) throw typeFault(`update expected at most 1 argument, got ${args.positional.length}`);
  for (const [key, value] of source === undefined ? [] : entriesOf(source)) setKey(target, key, value);
  for (const [key, value] of args.named) setKey(target, key, value);
}

function popKey(map: Dict, args: Bound): Item {
  const key = args.need("key");
  const present = getKey(map, key);
  const value = present === undefined ? args.get("default") : present;
  if (value === undefined) throw typeFault(reprOf(key));
  deleteKey(map, key);
  return value;
}

const dictMethods: Readonly<Record<string, Method<Dict>>> = {
  clear: [
    "",
    (map) => {
      map.clear();
      return null;
    },
  ],
  copy: ["", (map) => new Map(map)],
  get: ["key default?", (map, args) => itemOr(getKey(map, args.need("key")), () => args.need("default"))],
  items: [
    "",
    (map) =>
      new Series(
        "dict_items",
        Array.from(map, (pair) => new Tuple(pair)),
      ),
  ],
  keys: ["", (map) => new Series("dict_keys", [...map.keys()])],
  pop: ["key default?", popKey],
  popitem: [
    "",
    (map) => {
      const last = [...map].at(-1);
      if (last === undefined) throw typeFault("'popitem(): dictionary is empty'");
      map.delete(last[0]);
      return new Tuple(last);
    },
  ],
  setdefault: [
    "key default?",
    (map, args) => {
      const present = getKey(map, args.need("key"));
      if (present === undefined) setKey(map, args.need("key"), args.need("default"));
      return itemOr(present, () => args.need("default"));
    },
  ],
  values: ["", (map) => new Series("dict_values", [...map.values()])],
};

function placeIn(list: readonly Item[], index: number, fault: string): number {
  const place = index < 0 ? index + list.length : index;
  if (place < 0 || place >= list.length) throw typeFault(fault);
  return place;
}

function indexOf(items: readonly Item[], args: Bound, type: string): number {
  const start = args.integer("start", 0);
  const from = start < 0 ? Math.max(0, start + items.length) : start;
  const at = items.findIndex((item, index) => index >= from && isEqual(item, args.need("value")));
  if (at < 0)
    throw typeFault(
      type === "tuple" ? "tuple.index(x): x not in tuple" : `${reprOf(args.need("value"))} is not in list`,
    );
  return at;
}

const countOf = (items: readonly Item[], args: Bound) =>
  items.filter((item) => isEqual(item, args.need("value"))).length;

/** Sorts by Python's order. */
export function sorted(items: readonly Item[], key: (item: Item) => Item, isReversed: boolean): Item[] {
  const keyed = items.map((item) => ({ item, key: key(item) }));
  keyed.sort((a, b) => (isReversed ? order(b.key, a.key) : order(a.key, b.key)));
  return keyed.map(({ item }) => item);
}

/** A method that changes its list and returns None. */
function changing(signature: string, change: (list: Item[], args: Bound) => void): Method<Item[]> {
  return [
    signature,
    (list, args) => {
      change(list, args);
      return null;
    },
  ];
}

const listMethods: Readonly<Record<string, Method<Item[]>>> = {
  append: changing("value", (list, args) => list.push(args.need("value"))),
  clear: changing("", (list) => list.splice(0)),
  copy: ["", (list) => [...list]],
  count: ["value", countOf],
  extend: changing("iterable", (list, args) => {
    for (const item of [...iterate(args.need("iterable"))]) list.push(item);
  }),
  index: ["value start?", (list, args) => indexOf(list, args, "list")],
  insert: changing("index value", (list, args) => list.splice(args.integer("index", 0), 0, args.need("value"))),
  pop: [
    "index?",
    (list, args) => {
      if (list.length === 0) throw typeFault("pop from empty list");
      return list.splice(placeIn(list, args.integer("index", -1), "pop index out of range"), 1)[0] ?? null;
    },
  ],
  remove: changing("value", (list, args) => {
    const at = list.findIndex((item) => isEqual(item, args.need("value")));
    if (at < 0) throw typeFault("list.remove(x): x not in list");
    list.splice(at, 1);
  }),
  reverse: changing("", (list) => list.reverse()),
  sort: changing("key? reverse?", (list, args) => {
    const key = args.get("key") ?? null;
    const keyOf = key === null ? (item: Item) => item : (item: Item) => callItem(key, [item]);
    list.splice(0, list.length, ...sorted(list, keyOf, isTrue(args.get("reverse") ?? false)));
  }),
};

const tupleMethods: Readonly<Record<string, Method<Tuple>>> = {
  count: ["value", (tuple, args) => countOf(tuple.items, args)],
  index: ["value start?", (tuple, args) => indexOf(tuple.items, args, "tuple")],
};

function method<T>(table: Readonly<Record<string, Method<T>>>, self: T, name: string): Callable | undefined {
  const found = Object.hasOwn(table, name) ? table[name] : undefined;
  return found && new Callable(name, (args) => found[1](self, bind(name, found[0], args)));
}

function bound(name: string, run: ((args: CallArguments) => Item) | undefined): Callable | undefined {
  return run && new Callable(name, run);
}

function numberMember(item: Item, name: string): Callable | undefined {
  const simple = (value: () => Item) =>
    new Callable(name, (args) => {
      bind(name, "", args);
      return value();
    });
  if (isInteger(item) && name === "bit_length")
    return simple(() => (Number(item) === 0 ? 0 : BigInt(item < 0 ? -item : item).toString(2).length));
  if (isFloat(item) && name === "is_integer") return simple(() => Number.isInteger(asNumber(item)));
  return undefined;
}

/** A method or data member; undefined if there is none. Names that begin with an underscore are never found. */
function memberOf(object: Item, name: string): Item | undefined {
  if (name.startsWith("_")) return undefined;
  if (typeof object === "string") return bound(name, textMethod(object, name));
  if (object instanceof Map)
    return name === "update"
      ? new Callable(name, (args) => {
          updateDict(object, args);
          return null;
        })
      : method(dictMethods, object, name);
  if (Array.isArray(object)) return method(listMethods, object, name);
  if (object instanceof Tuple) return object.items[object.names.indexOf(name)] ?? method(tupleMethods, object, name);
  if (object instanceof PythonObject) return object.member(name);
  return numberMember(object, name);
}

/** Python's members that do not exist here. Using one is an error, so that a template does not silently get an undefined value. */
const knownElsewhere: Readonly<Record<string, readonly string[]>> = {
  str: ["encode", "format_map", "isprintable", "maketrans", "translate"],
  dict: ["fromkeys"],
  int: [
    "as_integer_ratio",
    "bit_count",
    "conjugate",
    "denominator",
    "from_bytes",
    "imag",
    "numerator",
    "real",
    "to_bytes",
  ],
  float: ["as_integer_ratio", "conjugate", "fromhex", "hex", "imag", "real"],
  bytes: ["decode", "hex", "split", "strip", "startswith", "endswith", "replace", "join"],
};

function checkKnown(object: Item, name: string): void {
  if (knownElsewhere[typeName(object)]?.includes(name) === true)
    throw fault("template", `the method ${typeName(object)}.${name} is not supported`);
}

/** `object.name`: a member, else an item. */
export function attributeOf(object: Item, name: string): Item {
  demand(object);
  const member = memberOf(object, name);
  if (member !== undefined) return member;
  const item = object instanceof Map ? getKey(object, name) : undefined;
  if (item !== undefined) return item;
  checkKnown(object, name);
  return missingMember(object, name);
}

/** `object[key]`: an item, else a member. */
export function subscriptOf(object: Item, key: Item): Item {
  demand(object);
  demand(key);
  if (object instanceof Map) {
    const item = getKey(object, key);
    if (item !== undefined) return item;
  }
  if (typeof key === "string") {
    const member = memberOf(object, key);
    if (member !== undefined) return member;
    checkKnown(object, key);
  }
  return itemOr(itemOf(object, key), () => missingMember(object, typeof key === "string" ? key : reprOf(key)));
}

/** Calls an item. @throws PILLAR_FAILED if it is not callable */
export function callItem(
  callee: Item,
  positional: readonly Item[],
  named: ReadonlyMap<string, Item> = new Map(),
): Item {
  demand(callee);
  if (callee instanceof Callable) return callee.call({ positional, named });
  throw typeFault(`'${typeName(callee)}' object is not callable`);
}

/** `int(item)`; undefined for an item that is not a number. */
export function integerFrom(item: Item, base = 10): Item | undefined {
  if (typeof item === "boolean") return Number(item);
  if (isInteger(item)) return item;
  if (isFloat(item)) {
    const value = item instanceof Float ? item.value : item;
    return Number.isFinite(value) ? narrowed(BigInt(Math.trunc(value))) : undefined;
  }
  return typeof item === "string" ? parseInteger(item, base) : undefined;
}

function narrowed(value: bigint): Item {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function parseInteger(source: string, base: number): Item | undefined {
  const text = source.trim().toLowerCase();
  const [, sign = "", prefix = "", digits = ""] = /^([-+]?)(0[box])?([\da-z]+(?:_[\da-z]+)*)$/.exec(text) ?? [];
  if (digits === "") return undefined;
  const prefixBase = { "0b": 2, "0o": 8, "0x": 16 }[prefix];
  if (prefixBase !== undefined && base !== 0 && base !== prefixBase) return undefined;
  const radix = base === 0 ? (prefixBase ?? 10) : base;
  let value = 0n;
  for (const digit of digits.replaceAll("_", "")) {
    const place = Number.parseInt(digit, 36);
    if (!(place < radix)) return undefined;
    value = value * BigInt(radix) + BigInt(place);
  }
  return narrowed(sign === "-" ? -value : value);
}
