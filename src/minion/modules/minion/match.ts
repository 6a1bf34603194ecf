/** Execution module `match`: whether a target matches this minion. Source: Salt 3007's `match`, docs/functions.md. */

import { hasCode } from "../../../errors.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import { matches } from "../../../target/match.ts";
import { expandTarget, readNodegroups } from "../../../target/nodegroups.ts";
import { parseTarget } from "../../../target/parse.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { readDataStore } from "../../functions/data-store.ts";
import { pythonException } from "../../functions/errors.ts";
import type { BoundArguments, CallContext, ModuleFunction } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import { mergedMaps } from "../declare/merge.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, keywordArguments, signature } from "../declare/signature.ts";

/** Further arguments of a kind of target: an id, also of another minion, or a delimiter of keys. */
type Form = { readonly takesId?: true; readonly takesDelimiter?: true };

/** The kinds of targets. Each is also the name of a function. */
const forms: { readonly [kind: string]: Form } = {
  compound: { takesId: true },
  ipcidr: {},
  pillar_pcre: { takesDelimiter: true },
  pillar: { takesDelimiter: true },
  data: {},
  grain_pcre: { takesDelimiter: true },
  grain: { takesDelimiter: true },
  list: { takesId: true },
  pcre: { takesId: true },
  glob: { takesId: true },
};

const texts: { readonly [kind: string]: readonly [about: string, example: string] } = {
  compound: [
    "Whether a compound target matches this minion, or a minion with another id.",
    "match.compound 'L@cheese,foo and *'",
  ],
  ipcidr: ["Whether the minion has this address, or one in this network.", "match.ipcidr '192.168.44.0/24'"],
  pillar_pcre: ["Whether a pillar value matches a regular expression.", "match.pillar_pcre 'cheese:(swiss|american)'"],
  pillar: ["Whether a pillar value matches a glob.", "match.pillar 'cheese:foo'"],
  data: ["Whether a value of the minion's data store matches a glob.", "match.data 'spam:eggs'"],
  grain_pcre: ["Whether a grain matches a regular expression.", "match.grain_pcre 'os:Fedo.*'"],
  grain: ["Whether a grain matches a glob.", "match.grain 'os:Ubuntu'"],
  list: ["Whether a list names the minion, or a minion with another id.", "match.list 'server1,server2'"],
  pcre: ["Whether the minion's id, or another one, matches a regular expression.", "match.pcre '.*'"],
  glob: ["Whether the minion's id, or another one, matches a glob.", "match.glob '*'"],
};

type Question = { readonly kind: string; readonly target: Value; readonly delimiter: string; readonly id: Value };

/** Whether a target matches this minion. As in Salt, an invalid target is logged and does not match. */
function isMeant(context: CallContext, { kind, target, delimiter, id }: Question): boolean {
  const { config } = context;
  const expression = Array.isArray(target) ? target.map(strOf) : strOf(target);
  const facts = {
    id: id === null ? config.id : strOf(id),
    grains: context.grains(),
    pillar: context.pillar(),
    ...(kind === "data" ? { data: readDataStore(config.cachedir) } : {}),
  };
  try {
    const written = expandTarget(kind, expression, readNodegroups(config.opts.get("nodegroups")));
    return matches(parseTarget(written.kind, written.expression, delimiter), facts);
  } catch (error) {
    if (!hasCode(error, "TARGET_INVALID")) throw error;
    context.log.error(`${kind} target '${strOf(target)}': ${(error as Error).message}`);
    return false;
  }
}

/** Whether a target of a top file matches this minion. An unknown kind is logged and does not match. */
export function isTargetMeant(context: CallContext, kind: string, target: string): boolean {
  if (kind === "nodegroup" || forms[kind] !== undefined)
    return isMeant(context, { kind, target, delimiter: ":", id: null });
  context.log.error(`Attempting to match with unknown matcher: ${kind}_match.match`);
  return false;
}

function matchFunction(kind: string): ModuleFunction {
  const { takesId, takesDelimiter } = forms[kind] ?? {};
  const [about = "", example = ""] = texts[kind] ?? [];
  const more = takesId ? ", minion_id=None" : takesDelimiter ? ", delimiter=':'" : "";
  return {
    ...signature(`tgt${more}`),
    ...(kind === "list" ? { pythonName: "list_" } : {}),
    doc: describe(about, example),
    run: (context, args) => {
      const delimiter = takesDelimiter ? strOf(argument(args, "delimiter")) : ":";
      return isMeant(context, { kind, target: argument(args, "tgt"), delimiter, id: argument(args, "minion_id") });
    },
  };
}

/** Whether a key of a table matches the minion. @throws SaltworksError FUNCTION_FAILED for a kind that does not exist */
function isKeyMeant(context: CallContext, key: Value, kind: Value, id: Value): boolean {
  const name = strOf(kind);
  const known = name === "list_" ? "list" : name;
  if (forms[known] === undefined) throw pythonException("KeyError", `'${name}'`);
  return isMeant(context, { kind: known, target: key, delimiter: ":", id: isTrue(id) ? id : null });
}

type Chosen = { readonly [name: string]: Value };

function firstMeant(
  context: CallContext,
  lookup: ValueMap,
  { tgt_type, minion_id, merge, merge_lists }: Chosen,
): Value {
  for (const [key, value] of lookup) {
    if (!isKeyMeant(context, key, tgt_type ?? null, minion_id ?? null)) continue;
    if (!isTrue(merge ?? null)) return value;
    if (!(merge instanceof Map)) {
      throw pythonException("SaltException", "filter_by merge argument must be a dictionary.");
    }
    return value instanceof Map ? mergedMaps(value, merge, isTrue(merge_lists ?? null)) : merge;
  }
  return null;
}

function hasMeant(context: CallContext, lookup: ValueMap, { tgt_type, minion_id }: Chosen): boolean {
  return [...lookup.keys()].some((key) => isKeyMeant(context, key, tgt_type ?? null, minion_id ?? null));
}

function tableOf(value: Value): ValueMap {
  if (value instanceof Map) return value;
  throw pythonException("AttributeError", `'${strOf(value)}' is not a dictionary`);
}

function filterByTarget(context: CallContext, { named }: BoundArguments): Value {
  const lookup = tableOf(named.lookup ?? null);
  if (hasMeant(context, lookup, named)) return firstMeant(context, lookup, named);
  return lookup.get(named.default ?? null) ?? null;
}

function searchByTarget(context: CallContext, args: BoundArguments): Value {
  const found: Value[] = [];
  for (const [key, targets] of tableOf(argument(args, "lookup"))) {
    for (const target of Array.isArray(targets) ? targets : []) {
      if (isKeyMeant(context, target, argument(args, "tgt_type"), argument(args, "minion_id"))) found.push(key);
    }
  }
  return found.length > 0 ? found : null;
}

const ifelseSignature = signature("*args, tgt_type='compound', minion_id=None, merge=None, merge_lists=False");

/** `match.ifelse`: its arguments are pairs of target and value, then the value if no target matches. */
function ifelse(context: CallContext, args: BoundArguments): Value {
  const words = args.rest;
  if (words.length % 2 === 0) {
    throw pythonException("SaltException", "The ifelse function must have an odd number of arguments!");
  }
  const lookup: ValueMap = new Map();
  for (let index = 0; index + 1 < words.length; index += 2) {
    const target = words[index] ?? null;
    lookup.set(target === true ? "*" : target === false ? "" : target, words[index + 1] ?? null);
  }
  const named = keywordArguments(args, ifelseSignature);
  return hasMeant(context, lookup, named) ? firstMeant(context, lookup, named) : (words.at(-1) ?? null);
}

export const matchModule: ModuleFunctions = {
  ...Object.fromEntries(Object.keys(forms).map((kind) => [`match.${kind}`, matchFunction(kind)])),
  "match.filter_by": {
    ...signature("lookup, tgt_type='compound', minion_id=None, merge=None, merge_lists=False, default='default'"),
    doc: describe(
      "The entry of a map whose key is the first target that matches the minion; the default without a match.",
      "match.filter_by '{foo*: Foo!, bar*: Bar!}' minion_id=bar03",
    ),
    run: filterByTarget,
  },
  "match.search_by": {
    ...signature("lookup, tgt_type='compound', minion_id=None"),
    doc: describe(
      "The keys of a map that have a target which matches the minion; None without a match.",
      "match.search_by '{web: [node1, node2], db: [node2, node]}'",
    ),
    run: searchByTarget,
  },
  "match.ifelse": {
    ...ifelseSignature,
    doc: describe(
      "The value behind the first target that matches the minion; the last argument without a match.",
      "match.ifelse 'foo*' 'Foo!' 'bar*' 'Bar!' minion_id=bar03",
    ),
    run: ifelse,
  },
};
