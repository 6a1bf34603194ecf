/** Execution module `grains`: reads and changes the minion's grains. Source: Salt 3007's `grains`, docs/functions.md. */

import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Encodable, Value, ValueMap } from "../../../wire/values.ts";
import { pythonException } from "../../functions/errors.ts";
import type { BoundArguments, CallContext, ModuleFunction } from "../../functions/module-contract.ts";
import { isYes } from "../../functions/number-words.ts";
import { describe } from "../declare/describe.ts";
import { filterBy } from "../declare/merge.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import { defaultDelimiter, traverse, traverseOr } from "../declare/traverse.ts";
import { appendToGrain, removeFromGrain, setGrain } from "./change.ts";
import { storeGrains } from "./store.ts";

const getFunction: ModuleFunction = {
  ...signature("key, default='', delimiter=':', ordered=True"),
  pythonName: "get",
  doc: describe("One grain, or with `key:key` a member of it; the default without one.", "grains.get os"),
  run: (context, args) =>
    traverseOr(context.grains(), argument(args, "key"), argument(args, "default"), delimiterOf(args)),
};

function delimiterOf(args: BoundArguments): string {
  return strOf(argument(args, "delimiter"));
}

const readFunctions: ModuleFunctions = {
  "grains.get": getFunction,
  "grains.fetch": getFunction,
  "grains.has_value": {
    ...signature("key"),
    doc: describe("Whether the grain exists, whatever its value.", "grains.has_value roles"),
    run: (context, args) => traverse(context.grains(), argument(args, "key")) !== undefined,
  },
  "grains.items": {
    ...signature("sanitize=False"),
    outputter: "nested",
    doc: describe(
      "All grains. `sanitize` hides serial numbers and names.",
      "grains.items",
      "grains.items sanitize=True",
    ),
    run: (context, args) => {
      const grains = new Map(context.grains());
      return isYes(argument(args, "sanitize")) ? sanitized(grains) : grains;
    },
  },
  "grains.item": {
    ...signature("*args, **kwargs"),
    outputter: "nested",
    doc: describe("The named grains.", "grains.item os osrelease", "grains.item datacenter:zone default=none"),
    run: namedGrains,
  },
  "grains.ls": {
    ...signature(""),
    doc: describe("The names of all grains.", "grains.ls"),
    run: (context) => Array.from(context.grains().keys(), strOf).sort(),
  },
  "grains.equals": {
    ...signature("key, value"),
    doc: describe("Whether a grain has this value.", "grains.equals osmajorrelease 12"),
    run: (context, args) => {
      const found = traverseOr(context.grains(), argument(args, "key"), "");
      return strOf(found) === strOf(argument(args, "value"));
    },
  },
  "grains.filter_by": {
    ...signature("lookup_dict, grain='os_family', merge=None, default='default', base=None"),
    doc: describe(
      "The entry of a map whose key equals the value of a grain, or matches it as a glob.",
      "grains.filter_by '{Debian: apt, RedHat: dnf, default: none}'",
    ),
    run: (context, args) =>
      filterBy(argument(args, "lookup_dict"), argument(args, "grain"), context.grains(), {
        merge: argument(args, "merge"),
        default: argument(args, "default"),
        base: argument(args, "base"),
      }),
  },
};

function namedGrains(context: CallContext, args: BoundArguments): Encodable {
  const fallback = args.extra.get("default") ?? "";
  const delimiter = strOf(args.extra.get("delimiter") ?? defaultDelimiter);
  const found: ValueMap = new Map();
  for (const name of args.rest) found.set(name, traverseOr(context.grains(), name, fallback, delimiter));
  return isYes(args.extra.get("sanitize") ?? null) ? sanitized(found) : found;
}

const hidden = new Map<Value, string>([
  ["domain", "DOMAINNAME"],
  ["fqdn", "MINION.DOMAINNAME"],
  ["id", "MINION.DOMAINNAME"],
  ["host", "MINION"],
  ["localhost", "MINION"],
  ["nodename", "MINION"],
]);

/** Replaces the grains that identify the machine; of a serial number only the last quarter. */
function sanitized(grains: ValueMap): ValueMap {
  for (const [name, text] of hidden) if (grains.has(name)) grains.set(name, text);
  const serial = grains.get("serialnumber");
  if (typeof serial === "string") {
    const kept = Math.floor(serial.length * 0.75);
    grains.set("serialnumber", serial.slice(0, kept).padEnd(serial.length, "X"));
  }
  return grains;
}

const changeFunctions: ModuleFunctions = {
  "grains.setval": {
    ...signature("key, val, destructive=False, refresh_pillar=True"),
    outputter: "nested",
    doc: describe(
      "Sets a grain and keeps it in the grains file.",
      "grains.setval key val",
      "grains.setval key '{sub: 1}'",
    ),
    run: (context, args) =>
      storeGrains(context, new Map([[argument(args, "key"), argument(args, "val")]]), storeOptions(args)),
  },
  "grains.setvals": {
    ...signature("grains, destructive=False, refresh_pillar=True"),
    doc: describe("Sets several grains.", "grains.setvals '{key1: val1, key2: val2}'"),
    run: (context, args) => {
      const grains = argument(args, "grains");
      if (grains instanceof Map) return storeGrains(context, grains, storeOptions(args));
      throw pythonException("salt.exceptions.SaltException", "setvals grains must be a dictionary.");
    },
  },
  "grains.append": {
    ...signature("key, val, convert=False, delimiter=':'"),
    doc: describe("Adds to a grain that is a list.", "grains.append roles web", "grains.append roles web convert=True"),
    run: (context, args) =>
      appendToGrain(context, place(args), argument(args, "val"), isTrue(argument(args, "convert"))),
  },
  "grains.remove": {
    ...signature("key, val, delimiter=':'"),
    doc: describe("Removes a value from a grain that is a list.", "grains.remove roles web"),
    run: (context, args) => removeFromGrain(context, place(args), argument(args, "val")),
  },
  "grains.set": {
    ...signature("key, val='', force=False, destructive=False, delimiter=':'"),
    doc: describe(
      "Sets a grain at any depth. Maps and lists are only replaced with `force`.",
      "grains.set apps:myApp:port 2209",
      "grains.set apps:myApp '{port: 2209}' force=True",
    ),
    run: (context, args) =>
      setGrain(context, place(args), argument(args, "val"), {
        isForced: isTrue(argument(args, "force")),
        isDestructive: isTrue(argument(args, "destructive")),
      }),
  },
  "grains.delval": {
    ...signature("key, destructive=False, force=False"),
    doc: describe("Empties a grain; with `destructive` removes the grain.", "grains.delval key"),
    run: (context, args) =>
      setGrain(context, { key: strOf(argument(args, "key")), delimiter: defaultDelimiter }, null, {
        isForced: isTrue(argument(args, "force")),
        isDestructive: isTrue(argument(args, "destructive")),
      }),
  },
  "grains.delkey": {
    ...signature("key, force=False"),
    doc: describe("Removes a grain.", "grains.delkey key"),
    run: (context, args) =>
      setGrain(context, { key: strOf(argument(args, "key")), delimiter: defaultDelimiter }, null, {
        isForced: isTrue(argument(args, "force")),
        isDestructive: true,
      }),
  },
};

function place(args: BoundArguments): { readonly key: string; readonly delimiter: string } {
  return { key: strOf(argument(args, "key")), delimiter: delimiterOf(args) };
}

function storeOptions(args: BoundArguments): { readonly isDestructive: boolean; readonly refreshesPillar: boolean } {
  return {
    isDestructive: argument(args, "destructive") === true,
    refreshesPillar: isTrue(argument(args, "refresh_pillar")),
  };
}

export const grainsModule: ModuleFunctions = { ...readFunctions, ...changeFunctions };
