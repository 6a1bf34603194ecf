/** Execution module `pillar`: the data that the master gives this minion. Source: Salt 3007's `pillar`, docs/functions.md. */

import { strOf } from "../../../python/repr.ts";
import { contains, isTrue, typeName } from "../../../python/values.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { commandError, pythonException } from "../../functions/errors.ts";
import type { BoundArguments, CallContext, ModuleFunction } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import { filterBy, mergedMaps } from "../declare/merge.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, keywordArguments, signature } from "../declare/signature.ts";
import { defaultDelimiter, traverse, traverseOr } from "../declare/traverse.ts";

/** Stands for "no default", because None is a default. */
const notSet = "<Constant.NOT_SET>";

const getFunction: ModuleFunction = {
  ...signature(
    `key, default='${notSet}', merge=False, merge_nested_lists=None, delimiter=':', pillarenv=None, saltenv=None`,
  ),
  pythonName: "get",
  doc: describe(
    "A value of the pillar in the minion's memory, with `key:key` from inside maps; the default without one.\nWith `merge` a map or list is merged over the default.",
    "pillar.get pkg:apache",
    "pillar.get abc::def|ghi delimiter='|'",
  ),
  run: getValue,
};

const itemsSignature = signature("*args, pillar=None, pillar_enc=None, pillarenv=None, saltenv=None");
const itemSignature = signature("*args, default=None, delimiter=None, pillarenv=None, saltenv=None");

const itemsFunction: ModuleFunction = {
  ...itemsSignature,
  pythonName: "items",
  doc: describe("The whole pillar or the named values of it, freshly rendered by the master.", "pillar.items"),
  run: compiledItems,
};

export const pillarModule: ModuleFunctions = {
  "pillar.get": getFunction,
  "pillar.fetch": getFunction,
  "pillar.items": itemsFunction,
  "pillar.data": itemsFunction,
  "pillar.item": {
    ...itemSignature,
    doc: describe("The named values of the pillar in the minion's memory.", "pillar.item foo bar:baz default=none"),
    run: async (context, args) => {
      const named = keywordArguments(args, itemSignature);
      const pillar = await pillarFor(context, named);
      const delimiter = named.delimiter === null ? defaultDelimiter : strOf(named.delimiter ?? null);
      return valuesOf(pillar, args.rest, named.default ?? "", delimiter);
    },
  },
  "pillar.ls": {
    ...itemsSignature,
    doc: describe("The top-level keys of the pillar, freshly rendered by the master.", "pillar.ls"),
    run: async (context, args) => [...(await compiledItems(context, args)).keys()],
  },
  "pillar.obfuscate": {
    ...itemsSignature,
    doc: describe(
      "The pillar with types in place of values, which shows its form without secrets.",
      "pillar.obfuscate",
    ),
    run: async (context, args) => typesInPlace(await compiledItems(context, args)),
  },
  "pillar.raw": {
    ...signature("key=None"),
    doc: describe("The pillar in the minion's memory, or one value at its top.", "pillar.raw", "pillar.raw key=roles"),
    run: (context, args) => {
      const key = argument(args, "key");
      return isTrue(key) ? (context.pillar().get(key) ?? new Map<Value, Value>()) : context.pillar();
    },
  },
  "pillar.keys": {
    ...signature("key, delimiter=':'"),
    doc: describe("The keys of a map in the pillar.", "pillar.keys web:sites"),
    run: (context, args) => {
      const key = argument(args, "key");
      const found = traverse(context.pillar(), key, strOf(argument(args, "delimiter")));
      if (found === undefined) throw pythonException("KeyError", `'Pillar key not found: ${strOf(key)}'`);
      if (found instanceof Map) return [...found.keys()];
      throw pythonException("ValueError", `Pillar value in key ${strOf(key)} is not a dict`);
    },
  },
  "pillar.filter_by": {
    ...signature("lookup_dict, pillar, merge=None, default='default', base=None"),
    doc: describe(
      "The entry of a map whose key equals a value of the pillar, or matches it as a glob.",
      "pillar.filter_by '{web: Serve it up, db: I query, default: x_x}' role",
    ),
    run: (context, args) =>
      filterBy(argument(args, "lookup_dict"), argument(args, "pillar"), context.pillar(), {
        merge: argument(args, "merge"),
        default: argument(args, "default"),
        base: argument(args, "base"),
      }),
  },
};

type Environments = { readonly [name: string]: Value };

/** The pillar in memory, unless the caller names another environment. */
async function pillarFor(context: CallContext, { saltenv = null, pillarenv = null }: Environments): Promise<ValueMap> {
  if (saltenv === null && pillarenv === null) return context.pillar();
  return await context.compilePillar(environmentOptions(context, saltenv, pillarenv));
}

function environmentOptions(context: CallContext, saltenv: Value, pillarenv: Value) {
  const follows = context.config.opts.get("pillarenv_from_saltenv") === true;
  const chosen = pillarenv ?? (follows ? (saltenv ?? context.config.saltenv) : context.config.pillarenv);
  return {
    ...(saltenv === null ? {} : { saltenv: strOf(saltenv) }),
    ...(chosen === null ? {} : { pillarenv: strOf(chosen) }),
  };
}

async function compiledItems(context: CallContext, args: BoundArguments): Promise<ValueMap> {
  const named = keywordArguments(args, itemsSignature);
  const { pillar = null, pillar_enc: encryption = null, saltenv = null, pillarenv = null } = named;
  if (args.rest.length > 0) return valuesOf(await pillarFor(context, named), args.rest, "", defaultDelimiter);
  if (isTrue(pillar) && isTrue(encryption)) {
    throw commandError(`pillar_enc=${strOf(encryption)} is not supported by this minion`);
  }
  return await context.compilePillar({
    ...environmentOptions(context, saltenv, pillarenv),
    ...(isTrue(pillar) ? { override: pillar } : {}),
  });
}

function valuesOf(pillar: ValueMap, names: readonly Value[], fallback: Value, delimiter: string): ValueMap {
  return new Map(names.map((name): [Value, Value] => [name, traverseOr(pillar, name, fallback, delimiter)]));
}

async function getValue(context: CallContext, args: BoundArguments): Promise<Value> {
  const pillar = await pillarFor(context, args.named);
  const key = argument(args, "key");
  const delimiter = strOf(argument(args, "delimiter"));
  const given = argument(args, "default");
  const raises = given === notSet && context.config.opts.get("pillar_raise_on_missing") === true;
  const fallback = given === notSet ? "" : given;
  if (isTrue(argument(args, "merge"))) {
    const merged = mergedDefault(context, args, fallback, (empty) => traverseOr(pillar, key, empty, delimiter));
    if (merged !== undefined) return merged;
  }
  const found = traverse(pillar, key, delimiter);
  if (found === undefined && raises) throw pythonException("KeyError", `'Pillar key not found: ${strOf(key)}'`);
  return found === undefined ? fallback : found;
}

/** The value merged over the default. Undefined if their types differ, which is logged. */
function mergedDefault(
  context: CallContext,
  args: BoundArguments,
  fallback: Value,
  lookUp: (empty: Value) => Value,
): Value | undefined {
  const option = argument(args, "merge_nested_lists");
  const mergesLists = option === null ? context.config.opts.get("pillar_merge_lists") === true : isTrue(option);
  if (fallback instanceof Map) {
    const found = lookUp(new Map());
    if (found instanceof Map) return mergedMaps(fallback, found, mergesLists);
  } else if (Array.isArray(fallback)) {
    const found = lookUp([]);
    if (Array.isArray(found)) return [...fallback, ...found.filter((member) => !contains(fallback, member))];
  }
  const text = `Default (${strOf(fallback)}) of type '${typeName(fallback)}' and the pillar's value are not both maps or lists`;
  context.log.error(`pillar.get: ${text}. Merge will be skipped.`);
  return undefined;
}

function typesInPlace(value: Value): Value {
  if (Array.isArray(value)) return value.map(typesInPlace);
  if (value instanceof Map) return new Map(Array.from(value, ([key, member]) => [key, typesInPlace(member)]));
  return `<${typeName(value)}>`;
}
