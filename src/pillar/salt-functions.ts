/**
 * The functions that templates of pillars call as `salt['module.function']`: on the minion's grains, on options and on data. In Salt they
 * run on the master. An unsupported function fails the template with its name. Reading files is allowed.
 */

import { SaltworksError } from "../errors.ts";
import { compileGlob } from "../python/fnmatch.ts";
import { reprOf, strOf } from "../python/repr.ts";
import { type Dict, demand, getKey, type Item, isEqual, isTrue, itemOr, iterate, Tuple } from "../python/values.ts";
import type { Value, ValueMap } from "../wire/values.ts";
import { fileText } from "./file-functions.ts";
import type { PillarFiles } from "./input/files.ts";
import { joinedLists, mergeBy, merged, mergeStrategies } from "./input/merge.ts";
import { type Minion, matchesMinion } from "./input/minion.ts";
import type { PillarSettings } from "./input/settings.ts";
import { traverse } from "./jinja/filters/data.ts";
import { type Bound, bind } from "./jinja/values/arguments.ts";
import { Callable, dataOf, fault, Members, typeFault } from "./jinja/values/objects.ts";

export type FunctionContext = {
  readonly minion: Minion;
  readonly settings: PillarSettings;
  readonly files: PillarFiles;
  readonly opts: () => Dict;
  /** Calls a function that only the site's own Salt has. */
  readonly inPython?: ((fun: string, args: readonly Value[], kwargs: ValueMap) => Value) | undefined;
};
type SaltFunction = readonly [signature: string, run: (context: FunctionContext, args: Bound) => Item];

/** The caller's default, which may be None; otherwise an empty text. */
function fallbackOf(args: Bound): Item {
  return itemOr(args.get("default"), () => "");
}

function lookUp(data: Dict, args: Bound, fallback: Item): Item {
  return traverse(data, args.need("key"), fallback, args.optionalText("delimiter") ?? ":");
}

/** `pillar.get`. With `pillar_raise_on_missing` a missing key without a default is an error. */
function pillarValue({ minion, settings }: FunctionContext, args: Bound): Item {
  const pillar = minion.pillar ?? new Map();
  const joint = isTrue(args.get("merge") ?? false) ? mergedDefault(pillar, args, settings.joinsLists) : undefined;
  if (joint !== undefined) return joint;
  if (args.get("default") !== undefined || !settings.raisesOnMissing) return lookUp(pillar, args, fallbackOf(args));
  const nothing = new Tuple([]);
  const found = lookUp(pillar, args, nothing);
  if (found === nothing) throw typeFault(reprOf(`Pillar key not found: ${strOf(args.need("key"))}`));
  return found;
}

/** The value merged over the default if both are maps or both are lists; otherwise undefined. */
function mergedDefault(pillar: Dict, args: Bound, joinsLists: boolean): Item | undefined {
  const fallback = args.get("default");
  const option = args.get("merge_nested_lists") ?? null;
  if (fallback instanceof Map) {
    const found = lookUp(pillar, args, new Map());
    const joinsNested = option === null ? joinsLists : isTrue(option);
    if (found instanceof Map) return merged(copied(fallback) as ValueMap, found as ValueMap, joinsNested);
  } else if (Array.isArray(fallback)) {
    const found = lookUp(pillar, args, []);
    if (Array.isArray(found)) return joinedLists(copied(fallback) as Item[], found);
  }
  return undefined;
}

/** Copies the default, because a template may change the result. */
function copied(item: Item): Item {
  if (Array.isArray(item)) return item.map(copied);
  return item instanceof Map ? new Map(Array.from(item, ([key, value]) => [key, copied(value)])) : item;
}

function dictArgument(args: Bound, name: string): Dict {
  const value = demand(args.need(name));
  if (value instanceof Map) return value;
  throw typeFault("Cannot update using non-dict types in dictupdate.update()");
}

function mergedArguments(args: Bound, below: string, above: string): Item {
  const strategy = args.text("strategy", "smart");
  // As in Salt, an unknown strategy is `recurse` without joined lists, which is what `none` means for values.
  const known = mergeStrategies.find((name) => name === strategy) ?? "none";
  const merge = mergeBy(known, args.text("renderer", "yaml"), isTrue(args.get("merge_lists") ?? false));
  return merge(dictArgument(args, below) as ValueMap, dictArgument(args, above) as ValueMap);
}

/** `grains.filter_by`: the entry whose key equals the grain's value or matches it as a glob. The grain may be a list. */
function filterBy({ minion }: FunctionContext, args: Bound): Item {
  const table = dictArgument(args, "lookup_dict");
  const grain = itemOr(args.get("grain"), () => "os_family");
  const value = traverse(minion.grains, grain, [], ":");
  const values = Array.isArray(value) ? value : [value];
  const isMeant = (name: Item, text: string) => strOf(name) === text || compileGlob(strOf(name)).matches(text);
  const found = values.map(strOf).flatMap((text) => {
    const name = [...table.keys()].find((key) => isMeant(key, text));
    return name === undefined ? [] : [getKey(table, name) ?? null];
  });
  // An entry of None counts as missing.
  const chosen = found.find((item) => item !== null) ?? defaultEntry(table, args);
  return withBaseAndMerge(table, chosen, args);
}

/** The entry under the key in `default`, which may be None; without the argument, the entry `default`. */
function defaultEntry(table: Dict, args: Bound): Item {
  return (
    getKey(
      table,
      itemOr(args.get("default"), () => "default"),
    ) ?? null
  );
}

function withBaseAndMerge(table: Dict, chosen: Item, args: Bound): Item {
  let found = chosen;
  const baseName = args.get("base") ?? null;
  const base = baseName === null ? undefined : getKey(table, baseName);
  if (base instanceof Map && isTrue(base)) {
    if (found !== null && !(found instanceof Map)) throw typeFault("filter_by merge argument must be a dictionary.");
    found = found === null ? base : merged(base as ValueMap, found as ValueMap, false);
  }
  const over = args.get("merge") ?? null;
  if (over !== null && isTrue(over)) {
    if (!(over instanceof Map)) throw typeFault("filter_by merge argument must be a dictionary.");
    found = found === null ? over : merged(found as ValueMap, over as ValueMap, false);
  }
  return found;
}

function namedGrains({ minion }: FunctionContext, keys: readonly Item[]): Item {
  return new Map(keys.map((key): [Item, Item] => [key, traverse(minion.grains, key, "", ":")]));
}

type Expression = string | readonly string[];

/** @throws PILLAR_FAILED if `minion_id` names another minion, whose grains are not known here */
function checkMinion({ minion }: FunctionContext, args: Bound): void {
  const other = args.get("minion_id") ?? null;
  if (other !== null && !isEqual(other, minion.id)) throw fault("template", "match of another minion is not supported");
}

/** Whether the target matches. As in Salt, an invalid expression does not match. One that Salt accepts and this program does not is an error. */
function isMinionMeant(context: FunctionContext, kind: string, expression: Expression, delimiter?: string): boolean {
  try {
    return matchesMinion(context.minion, context.settings, kind, expression, delimiter);
  } catch (error) {
    if (!(error instanceof SaltworksError) || error.code !== "TARGET_INVALID") throw error;
    const { isRefused, isUndefined, construct } = error.detail;
    if (isRefused === true && isUndefined !== true && construct !== "range") throw fault("template", error.message);
    return false;
  }
}

/** A function `match.*` for one kind of target. `minion_id` may only name this minion. */
function matching(kind: string): SaltFunction {
  return [
    kind.startsWith("grain") || kind.startsWith("pillar") ? "tgt delimiter? minion_id?" : "tgt minion_id?",
    (context, args) => {
      checkMinion(context, args);
      const target = demand(args.need("tgt"));
      const expression = typeof target === "string" ? target : iterate(target).map(strOf);
      return isMinionMeant(context, kind, expression, args.optionalText("delimiter") ?? ":");
    },
  ];
}

/** `match.filter_by`: the value of the first target that matches this minion. */
function filterByTarget(context: FunctionContext, args: Bound): Item {
  checkMinion(context, args);
  const table = dictArgument(args, "lookup");
  const kind = args.text("tgt_type", "compound");
  for (const [target, value] of table) {
    if (!isMinionMeant(context, kind, strOf(target))) continue;
    const over = args.get("merge") ?? null;
    if (over === null || !isTrue(over)) return value;
    if (!(over instanceof Map)) throw typeFault("filter_by merge argument must be a dictionary.");
    if (value === null) return over;
    if (!(value instanceof Map)) throw typeFault("Cannot update using non-dict types in dictupdate.update()");
    return merged(value as ValueMap, over as ValueMap, isTrue(args.get("merge_lists") ?? false));
  }
  return defaultEntry(table, args);
}

/** `match.search_by`: each name once for each of its targets that matches this minion. */
function searchByTarget(context: FunctionContext, args: Bound): Item {
  checkMinion(context, args);
  const kind = args.text("tgt_type", "compound");
  const names = Array.from(dictArgument(args, "lookup")).flatMap(([name, targets]) =>
    iterate(targets)
      .filter((target) => isMinionMeant(context, kind, strOf(target)))
      .map(() => name),
  );
  return names.length > 0 ? names : null;
}

const functions: Readonly<Record<string, SaltFunction>> = {
  "config.get": [
    "key default? delimiter?",
    ({ opts, minion }, args) => {
      const inOptions = lookUp(opts(), args, new Tuple([]));
      if (!(inOptions instanceof Tuple)) return inOptions;
      return lookUp(minion.grains, args, fallbackOf(args));
    },
  ],
  "cp.get_file_str": ["path saltenv?", ({ files, settings }, args) => fileText(files, settings, args)],
  "defaults.merge": [
    "dest upd merge_lists? in_place?",
    (_context, args) => {
      const target = dictArgument(args, "dest");
      const result = mergedArguments(args, "dest", "upd") as Dict;
      if (args.get("in_place") === false) return result;
      for (const [key, value] of result) target.set(key, value);
      return target;
    },
  ],
  "grains.equals": [
    "key value",
    ({ minion }, args) => strOf(traverse(minion.grains, args.need("key"), "", ":")) === strOf(args.need("value")),
  ],
  "grains.fetch": ["key default? delimiter?", ({ minion }, args) => lookUp(minion.grains, args, fallbackOf(args))],
  "grains.filter_by": ["lookup_dict grain? merge? default? base?", filterBy],
  "grains.get": [
    "key default? delimiter? ordered?",
    ({ minion }, args) => lookUp(minion.grains, args, fallbackOf(args)),
  ],
  "grains.has_value": ["key", ({ minion }, args) => isTrue(lookUp(minion.grains, args, false))],
  "grains.items": ["sanitize?", ({ minion }) => minion.grains],
  "grains.ls": ["", ({ minion }) => [...minion.grains.keys()].map(strOf).sort()],
  "match.compound": matching("compound"),
  "match.filter_by": ["lookup tgt_type? minion_id? merge? merge_lists? default?", filterByTarget],
  "match.glob": matching("glob"),
  "match.grain": matching("grain"),
  "match.grain_pcre": matching("grain_pcre"),
  "match.ipcidr": matching("ipcidr"),
  "match.list": matching("list"),
  "match.nodegroup": matching("nodegroup"),
  "match.pcre": matching("pcre"),
  "match.pillar": matching("pillar"),
  "match.pillar_pcre": matching("pillar_pcre"),
  "match.search_by": ["lookup tgt_type? minion_id?", searchByTarget],
  "pillar.get": ["key default? merge? merge_nested_lists? delimiter?", pillarValue],
  "pillar.items": ["", ({ minion }) => minion.pillar ?? new Map()],
  "slsutil.merge": [
    "obj_a obj_b strategy? renderer? merge_lists?",
    (_context, args) => mergedArguments(args, "obj_a", "obj_b"),
  ],
  "slsutil.update": [
    "dest upd recursive_update? merge_lists?",
    (_context, args) => mergedArguments(args, "dest", "upd"),
  ],
  "test.echo": ["text", (_context, args) => args.need("text")],
  "test.ping": ["", () => true],
};

/** Sorted names of all functions that templates may call. */
export function saltFunctionNames(): string[] {
  return [...Object.keys(functions), "grains.item"].sort();
}

function callable(context: FunctionContext, name: string): Callable {
  if (name === "grains.item") return new Callable(name, ({ positional }) => namedGrains(context, positional));
  const found = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (found === undefined)
    return new Callable(name, ({ positional, named }) => {
      const { inPython } = context;
      if (inPython === undefined) throw fault("template", `salt['${name}'] is not supported in pillars`);
      const kwargs = Array.from(named, ([key, value]): [Value, Value] => [key, dataOf(value)]);
      return inPython(name, positional.map(dataOf), new Map(kwargs));
    });
  const [signature, run] = found;
  return new Callable(name, (args) => run(context, bind(name, signature, args)));
}

/** The variable `salt`: `salt['grains.get'](...)` and `salt.grains.get(...)`. */
export function saltFunctions(context: FunctionContext): Members {
  return new Members("dict", (name) => {
    if (name.includes(".")) return callable(context, name);
    return new Members("module", (inner) => callable(context, `${name}.${inner}`));
  });
}
