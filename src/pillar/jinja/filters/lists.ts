/** Jinja's and Salt's filters on lists, maps and numbers. */
import { fixedText } from "../../../python/format/spec.ts";
import { strOf } from "../../../python/repr.ts";
import {
  asNumber,
  type Dict,
  demand,
  type Item,
  isEqual,
  isFloat,
  isNumber,
  isTrue,
  itemOr,
  iterate,
  lengthOf,
  Series,
  Tuple,
  typeName,
} from "../../../python/values.ts";
import { Float, floatItem } from "../../../wire/values.ts";
import { attributeOf, integerFrom, sorted, subscriptOf } from "../python/methods-collections.ts";
import { binary, negated } from "../python/operators.ts";
import type { Bound } from "../values/arguments.ts";
import { type CallArguments, fault, typeFault, Undefined } from "../values/objects.ts";
import { type FilterHost, type FilterTable, filter, freeFilter } from "./host.ts";

/** Returns a getter for `a.b.0` or a number; without an attribute it returns the item itself. */
function getter(attribute: Item | undefined, fallback?: Item): (item: Item) => Item {
  if (attribute === undefined || attribute === null) return (item) => item;
  const parts: readonly Item[] =
    typeof attribute === "string"
      ? attribute.split(".").map((part) => (/^\d+$/.test(part) ? Number(part) : part))
      : [attribute];
  return (item) => {
    let found = item;
    for (const part of parts) found = subscriptOf(found, part);
    return found instanceof Undefined && fallback !== undefined ? fallback : found;
  };
}

function lowered(item: Item): Item {
  return typeof item === "string" ? item.toLowerCase() : item;
}

function sortedBy(input: Item, args: Bound): Item {
  const attribute = args.get("attribute");
  const keys = typeof attribute === "string" ? attribute.split(",").map((part) => getter(part)) : [getter(attribute)];
  const fold = isTrue(args.get("case_sensitive") ?? false) ? (item: Item) => item : lowered;
  const keyOf = (item: Item): Item => {
    const parts = keys.map((key) => fold(key(item)));
    return parts.length === 1 ? (parts[0] ?? null) : [...parts];
  };
  return sorted(iterate(input), keyOf, isTrue(args.get("reverse") ?? false));
}

function dictSorted(input: Item, args: Bound): Item {
  if (!(input instanceof Map)) throw typeFault(`'${typeName(input)}' object has no attribute 'items'`);
  const by = args.text("by", "key");
  if (by !== "key" && by !== "value") throw typeFault('You can only sort by either "key" or "value"');
  const fold = isTrue(args.get("case_sensitive") ?? false) ? (item: Item) => item : lowered;
  const pairs = Array.from(input, (pair): Item => new Tuple(pair));
  const place = by === "key" ? 0 : 1;
  return sorted(pairs, (pair) => fold((pair as Tuple).items[place] ?? null), isTrue(args.get("reverse") ?? false));
}

function grouped(input: Item, args: Bound): Item {
  const key = getter(args.need("attribute"), args.get("default"));
  const fold = isTrue(args.get("case_sensitive") ?? false) ? (item: Item) => item : lowered;
  const rows = sorted(iterate(input), (item) => fold(key(item)), false);
  const groups: { key: Item; items: Item[] }[] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    if (last !== undefined && isEqual(fold(last.key), fold(key(row)))) last.items.push(row);
    else groups.push({ key: key(row), items: [row] });
  }
  return groups.map((group) => new Tuple([group.key, group.items], ["grouper", "list"]));
}

function unique(items: readonly Item[]): Item[] {
  const kept: Item[] = [];
  const texts = new Set<string>();
  for (const item of items) {
    if (typeof item === "string") {
      if (texts.has(item)) continue;
      texts.add(item);
      kept.push(item);
    } else if (!kept.some((other) => isEqual(other, item))) kept.push(item);
  }
  return kept;
}

/** Accepts lists only, because Salt's set operations return unordered sets for texts and tuples. */
function listOf(item: Item, name: string): readonly Item[] {
  demand(item);
  if (Array.isArray(item)) return item;
  throw typeFault(`${name} is supported for lists only, not for ${typeName(item)}`);
}

function setFilter(name: string, parameter: string, run: (a: readonly Item[], b: readonly Item[]) => Item[]) {
  return filter(parameter, (input, args) => run(listOf(input, name), listOf(args.need(parameter), name)));
}
const isIn = (item: Item, list: readonly Item[]) => list.some((other) => isEqual(other, item));
const union = (a: readonly Item[], b: readonly Item[]) => unique([...a, ...b]);
const intersection = (a: readonly Item[], b: readonly Item[]) => unique(a.filter((item) => isIn(item, b)));

function isIterable(item: Item): boolean {
  return (
    Array.isArray(item) ||
    item instanceof Map ||
    item instanceof Tuple ||
    item instanceof Series ||
    item instanceof Uint8Array
  );
}

function flattened(input: Item, levels: number | undefined, keepsNulls: boolean): Item[] {
  return iterate(input).flatMap((item): Item[] => {
    if (!keepsNulls && (item === null || item === "None" || item === "null")) return [];
    if (!isIterable(item) || (levels !== undefined && levels < 1)) return [item];
    return flattened(item, levels === undefined ? undefined : levels - 1, keepsNulls);
  });
}

/** The filter `map`: replaces each item by one of its attributes, or by what a named filter makes of it. */
function mapping(input: Item, args: CallArguments, host: FilterHost): Item {
  const attribute = args.named.get("attribute");
  if (args.positional.length === 0 && attribute !== undefined) {
    const get = getter(attribute, args.named.get("default"));
    return new Series("generator", iterate(input).map(get));
  }
  const [name, ...rest] = args.positional;
  if (typeof name !== "string") throw fault("template", "map requires a filter argument");
  const inner = { positional: rest, named: args.named };
  return new Series(
    "generator",
    iterate(input).map((item) => host.filter(name, item, inner)),
  );
}

function selecting(wanted: boolean, byAttribute: boolean) {
  return (input: Item, args: CallArguments, host: FilterHost): Item => {
    const attribute = byAttribute ? args.positional[0] : undefined;
    const others = byAttribute ? args.positional.slice(1) : args.positional;
    if (byAttribute && attribute === undefined) throw fault("template", "Missing parameter for attribute name");
    const get = getter(attribute);
    const [name, ...rest] = others;
    const inner = { positional: rest, named: args.named };
    const holds = (item: Item) => (name === undefined ? isTrue(get(item)) : host.test(strOf(name), get(item), inner));
    return new Series(
      "generator",
      iterate(input).filter((item) => holds(item) === wanted),
    );
  };
}

function batched(input: Item, args: Bound): Item {
  const size = args.integer("linecount", 0);
  if (size < 1) throw typeFault("batch() wants a positive line count");
  const items = iterate(input);
  const rows: Item[] = [];
  for (let start = 0; start < items.length; start += size) rows.push(items.slice(start, start + size));
  const last = rows.at(-1);
  const filling = args.get("fill_with") ?? null;
  if (Array.isArray(last) && filling !== null && size <= 100_000) while (last.length < size) last.push(filling);
  return new Series("generator", rows);
}

function sliced(input: Item, args: Bound): Item {
  const items = iterate(input);
  const count = args.integer("slices", 0);
  if (count < 1 || count > 100_000) throw typeFault("slice() wants a positive number of slices");
  const size = Math.floor(items.length / count);
  const longer = items.length % count;
  const filling = args.get("fill_with") ?? null;
  let start = 0;
  const rows = Array.from({ length: count }, (_, index) => {
    const end = start + size + (index < longer ? 1 : 0);
    const row = items.slice(start, end);
    start = end;
    return filling !== null && index >= longer ? [...row, filling] : row;
  });
  return new Series("generator", rows);
}

function rounded(input: Item, args: Bound): Item {
  if (!isNumber(demand(input))) throw typeFault(`type ${typeName(input)} doesn't define __round__ method`);
  const value = asNumber(input as number);
  const precision = args.integer("precision", 0);
  const method = args.text("method", "common");
  const factor = 10 ** precision;
  if (method === "ceil") return floatItem(Math.ceil(value * factor) / factor);
  if (method === "floor") return floatItem(Math.floor(value * factor) / factor);
  if (method !== "common") throw fault("template", "method must be common, ceil or floor");
  const isWhole = !isFloat(input);
  const result = roundHalfEven(value, precision);
  return isWhole ? result : floatItem(result);
}

/** Rounds the exact binary value, halves to even, as Python does. */
function roundHalfEven(value: number, precision: number): number {
  if (!Number.isFinite(value) || precision > 100) return value;
  if (precision <= 0) {
    const factor = 10 ** -precision;
    const scaled = value / factor;
    const low = Math.floor(scaled);
    const rest = scaled - low;
    const isUp = rest > 0.5 || (rest === 0.5 && low % 2 !== 0);
    return (isUp ? low + 1 : low) * factor;
  }
  return Number(fixedText(value, precision));
}

function numbersOf(input: Item): Item[] {
  return [...iterate(input)];
}

function extreme(input: Item, isMaximum: boolean): Item {
  const [first, ...rest] = sorted(numbersOf(input), (item) => item, isMaximum);
  void rest;
  if (first === undefined) throw typeFault(`${isMaximum ? "max" : "min"}() arg is an empty sequence`);
  return first;
}

function total(items: readonly Item[], start: Item): Item {
  return items.reduce((sum, item) => binary("+", sum, item), start);
}

function compareDicts(old: Dict, now: Dict): Dict {
  const changes: Dict = new Map();
  const change = (a: Item, b: Item): Dict =>
    new Map<Item, Item>([
      ["old", a],
      ["new", b],
    ]);
  for (const [key, value] of now) {
    const before = old.get(key);
    if (before === undefined) changes.set(key, change("", value));
    else if (!isEqual(before, value)) changes.set(key, change(before, value));
  }
  for (const [key, value] of old) if (!now.has(key)) changes.set(key, change(value, ""));
  return changes;
}

function dictOf(item: Item, name: string): Dict {
  if (demand(item) instanceof Map) return item as Dict;
  throw typeFault(`${name} wants a map, not ${typeName(item)}`);
}

function floatFrom(input: Item): Item | undefined {
  if (isNumber(input)) return floatItem(asNumber(input));
  if (typeof input !== "string") return undefined;
  const text = input
    .trim()
    .replaceAll(/(\d)_(?=\d)/g, "$1")
    .toLowerCase();
  if (/^[-+]?(?:inf|infinity)$/.test(text))
    return text.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  if (/^[-+]?nan$/.test(text)) return Number.NaN;
  return /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/.test(text) ? floatItem(Number(text)) : undefined;
}

function toBoolean(input: Item): Item {
  if (input === null) return false;
  if (typeof input === "boolean") return input;
  if (typeof input === "string") return ["yes", "1", "true"].includes(input.toLowerCase());
  if (isFloat(input)) return false;
  if (isNumber(input)) return asNumber(input) > 0;
  return Array.isArray(input) || input instanceof Map ? lengthOf(input) > 0 : false;
}

function exactly(input: Item, wanted: number): boolean {
  return iterate(input).filter(isTrue).length === wanted;
}

/** The first or last item; Jinja's undefined value for an empty sequence. */
function endOf(input: Item, isLast: boolean): Item {
  const items = iterate(input);
  const item = isLast ? items.at(-1) : items[0];
  return itemOr(item, () => new Undefined(`No ${isLast ? "last" : "first"} item, sequence was empty.`));
}

function absolute(input: Item): Item {
  if (!isNumber(demand(input))) throw typeFault(`bad operand type for abs(): '${typeName(input)}'`);
  return asNumber(input as number) < 0 ? negated(input) : typeof input === "boolean" ? Number(input) : input;
}

export const listFilters: FilterTable = {
  abs: filter("", absolute),
  attr: filter("name", (input, args) => attributeOf(input, strOf(args.need("name")))),
  avg: filter("", (input) => {
    if (isNumber(input)) return floatItem(asNumber(input));
    return binary("/", total(iterate(input), 0), lengthOf(input));
  }),
  batch: filter("linecount fill_with?", batched),
  compare_dicts: filter("new", (input, args) =>
    compareDicts(dictOf(input, "compare_dicts"), dictOf(args.need("new"), "compare_dicts")),
  ),
  compare_lists: filter("new", (input, args) => {
    const old = iterate(input);
    const now = iterate(args.need("new"));
    const added = now.filter((item) => !isIn(item, old));
    const removed = old.filter((item) => !isIn(item, now));
    const changes: Dict = new Map();
    if (added.length > 0) changes.set("new", added);
    if (removed.length > 0) changes.set("old", removed);
    return changes;
  }),
  count: filter("", (input) => lengthOf(input)),
  dictsort: filter("case_sensitive? by? reverse?", dictSorted),
  difference: setFilter("difference", "lst2", (a, b) => unique(a.filter((item) => !isIn(item, b)))),
  exactly_n_true: filter("amount?", (input, args) => exactly(input, args.integer("amount", 1))),
  exactly_one_true: filter("", (input) => exactly(input, 1)),
  first: filter("", (input) => endOf(input, false)),
  flatten: filter("levels? preserve_nulls?", (input, args) => {
    const levels = args.get("levels") ?? null;
    return flattened(
      input,
      levels === null ? undefined : args.integer("levels", 0),
      isTrue(args.get("preserve_nulls") ?? false),
    );
  }),
  float: filter(
    "default?",
    (input, args) => floatFrom(demand(input)) ?? itemOr(args.get("default"), () => new Float(0)),
  ),
  groupby: filter("attribute default? case_sensitive?", grouped),
  int: filter("default? base?", (input, args) => {
    const whole = integerFrom(demand(input), args.integer("base", 10));
    const viaFloat = whole ?? integerFrom(floatFrom(input) ?? null);
    return viaFloat ?? itemOr(args.get("default"), () => 0);
  }),
  intersect: setFilter("intersect", "lst2", intersection),
  is_iter: filter("", (input) => isIterable(demand(input))),
  is_list: filter("", (input) => Array.isArray(input)),
  items: filter("", (input) => {
    if (input instanceof Undefined) return new Series("generator", []);
    if (!(input instanceof Map)) throw typeFault("Can only get item pairs from a mapping.");
    return new Series(
      "generator",
      Array.from(input, (pair) => new Tuple(pair)),
    );
  }),
  join: filter("d? attribute?", (input, args) => {
    const get = getter(args.get("attribute"));
    return iterate(input)
      .map((item) => strOf(get(item)))
      .join(strOf(args.get("d") ?? ""));
  }),
  last: filter("", (input) => endOf(input, true)),
  list: filter("", (input) => [...iterate(input)]),
  map: freeFilter(mapping),
  max: filter("", (input) => extreme(input, true)),
  min: filter("", (input) => extreme(input, false)),
  reject: freeFilter(selecting(false, false)),
  rejectattr: freeFilter(selecting(false, true)),
  reverse: filter("", (input) =>
    typeof input === "string"
      ? [...iterate(input)].reverse().join("")
      : new Series("generator", [...iterate(input)].reverse()),
  ),
  round: filter("precision? method?", rounded),
  select: freeFilter(selecting(true, false)),
  selectattr: freeFilter(selecting(true, true)),
  sequence: filter("", (input) =>
    Array.isArray(input) || input instanceof Tuple || input instanceof Map ? input : [demand(input)],
  ),
  slice: filter("slices fill_with?", sliced),
  sort: filter("reverse? case_sensitive? attribute?", sortedBy),
  sorted_ignorecase: filter("", (input) => sorted(iterate(input), lowered, false)),
  sum: filter("attribute? start?", (input, args) =>
    total(iterate(input).map(getter(args.get("attribute"))), args.get("start") ?? 0),
  ),
  symmetric_difference: setFilter("symmetric_difference", "lst2", (a, b) => {
    const shared = intersection(a, b);
    return union(a, b).filter((item) => !isIn(item, shared));
  }),
  to_bool: filter("", (input) => toBoolean(demand(input))),
  to_entries: filter("", (input) => {
    const pairs: readonly (readonly [Item, Item])[] =
      input instanceof Map ? [...input] : iterate(input).map((item, index): [Item, Item] => [index, item]);
    return pairs.map(
      ([key, value]): Dict =>
        new Map<Item, Item>([
          ["key", key],
          ["value", value],
        ]),
    );
  }),
  to_num: filter("", (input) => integerFrom(demand(input)) ?? floatFrom(input) ?? input),
  union: setFilter("union", "lst2", union),
  unique: filter("", (input) => {
    const kept = unique(iterate(input));
    // In Salt only lists and maps keep their order; other inputs become sets.
    return Array.isArray(input) || input instanceof Map ? kept : new Series("set", kept);
  }),
};
