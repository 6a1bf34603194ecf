/** Execution module `config`: settings of the minion, from every source. Source: Salt 3007's `config`, docs/functions.md. */

import { compileGlob } from "../../../python/fnmatch.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import { mergedMaps } from "../declare/merge.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { findSetting, optionsOf, type SettingSources, sourcesOf } from "../declare/settings.ts";
import { builtInSettings } from "../declare/settings-built-in.ts";
import { argument, signature } from "../declare/signature.ts";
import { traverse } from "../declare/traverse.ts";

const omits = "omit_opts=False, omit_pillar=False, omit_master=False, omit_grains=False";

export const configModule: ModuleFunctions = {
  "config.get": {
    ...signature(`key, default='', delimiter=':', merge=None, ${omits}`),
    doc: describe(
      "A setting: from the minion's configuration, else its grains, its pillar, the master's configuration in the pillar.\nWith `merge` (`recurse` or `overwrite`) maps of all these are merged.",
      "config.get mine_interval",
      "config.get lxc.container_profile:centos merge=recurse",
    ),
    run: getSetting,
  },
  "config.option": {
    ...signature(
      "value, default=None, omit_opts=False, omit_grains=False, omit_pillar=False, omit_master=False, omit_all=False, wildcard=False",
    ),
    doc: describe(
      "A setting by its whole name, without looking into maps. With `wildcard` a map of all settings that match a glob.",
      "config.option redis.host",
      "config.option 'mysql.*' wildcard=True",
    ),
    run: (context, args) => {
      const name = argument(args, "value");
      return isTrue(argument(args, "wildcard")) ? matchingOptions(context, args) : option(context, args, name);
    },
  },
  "config.merge": {
    ...signature("value, default='', omit_opts=False, omit_master=False, omit_pillar=False"),
    doc: describe("A setting, merged from the minion's configuration and its pillar.", "config.merge mine_functions"),
    run: (context, args) => mergedSetting(context, args, argument(args, "value"), argument(args, "default")),
  },
  "config.items": {
    ...signature(""),
    doc: describe("The minion's whole configuration.", "config.items"),
    run: (context) => optionsOf(context),
  },
  "config.dot_vals": {
    ...signature("value"),
    doc: describe("All settings whose name begins with this prefix and a dot.", "config.dot_vals mysql"),
    run: (context, args) => {
      const start = `${strOf(argument(args, "value"))}.`;
      const found: ValueMap = new Map();
      for (const source of sourcesOf(context, { omitsGrains: true, omitsPillar: true }).reverse()) {
        for (const [name, value] of source) if (strOf(name).startsWith(start)) found.set(name, value);
      }
      return found;
    },
  },
  "config.backup_mode": {
    ...signature("backup=''"),
    doc: describe("The backup mode for replaced files: the given one, else the configured one.", "config.backup_mode"),
    run: (context, args) => {
      const given = argument(args, "backup");
      return isTrue(given) ? given : context.config.backup_mode;
    },
  },
  "config.manage_mode": {
    ...signature("mode"),
    doc: describe("A file mode as four digits.", "config.manage_mode 644"),
    run: (_, args) => normalizedMode(argument(args, "mode")),
  },
  "config.valid_fileproto": {
    ...signature("uri"),
    doc: describe(
      "Whether Salt reads files from addresses with this scheme.",
      "config.valid_fileproto salt://path/to/file",
    ),
    run: (_, args) => {
      const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(strOf(argument(args, "uri")))?.[1]?.toLowerCase();
      return ["http", "https", "salt", "ftp", "s3", "swift", "file"].includes(scheme ?? "");
    },
  },
};

function omitted(args: BoundArguments): SettingSources {
  return {
    omitsOptions: isTrue(argument(args, "omit_opts")),
    omitsGrains: isTrue(argument(args, "omit_grains")),
    omitsPillar: isTrue(argument(args, "omit_pillar")),
    omitsMaster: isTrue(argument(args, "omit_master")),
  };
}

function getSetting(context: CallContext, args: BoundArguments): Value {
  const key = argument(args, "key");
  const delimiter = strOf(argument(args, "delimiter"));
  const found =
    argument(args, "merge") === null
      ? findSetting(context, key, delimiter, omitted(args))
      : traverse(everySetting(context), key, delimiter);
  const known = found === undefined ? traverse(builtInSettings, key, delimiter) : found;
  return known === undefined ? argument(args, "default") : known;
}

/** All sources as one map; the minion's configuration wins. */
function everySetting(context: CallContext): ValueMap {
  const [options = new Map(), grains = new Map(), pillar = new Map(), master = new Map()] = sourcesOf(context);
  return [master, pillar, grains, options].reduce((merged, source) => mergedMaps(merged, source), builtInSettings);
}

function option(context: CallContext, args: BoundArguments, name: Value): Value {
  const sources = isTrue(argument(args, "omit_all")) ? [] : sourcesOf(context, omitted(args));
  for (const source of [...sources, builtInSettings]) {
    const found = source.get(name);
    if (found !== undefined) return found;
  }
  return argument(args, "default") ?? "";
}

function matchingOptions(context: CallContext, args: BoundArguments): Value {
  const glob = compileGlob(strOf(argument(args, "value")));
  const sources = isTrue(argument(args, "omit_all")) ? [] : sourcesOf(context, omitted(args));
  const found: ValueMap = new Map();
  for (const source of [builtInSettings, ...sources.reverse()]) {
    for (const [name, value] of source) if (glob.matches(strOf(name))) found.set(name, value);
  }
  return found.size > 0 ? found : (argument(args, "default") ?? new Map());
}

/**
 * Looks in the minion's configuration, the master's and the pillar, in this order. A text that is found first is the result. Maps are merged,
 * and earlier sources win; lists are joined.
 */
export function mergedSetting(
  context: CallContext,
  args: BoundArguments | undefined,
  name: Value,
  fallback: Value,
): Value {
  const isOmitted = (option: string) => args !== undefined && isTrue(argument(args, option));
  const master = context.pillar().get("master");
  let result: Value | undefined = isOmitted("omit_opts") ? undefined : optionsOf(context).get(name);
  for (const [option, source] of [
    ["omit_master", master instanceof Map ? master : new Map()],
    ["omit_pillar", context.pillar()],
  ] as const) {
    if (typeof result === "string") return result;
    const found: Value | undefined = isOmitted(option) ? undefined : source.get(name);
    if (found === undefined) continue;
    if (result === undefined || result === null) result = found;
    else if (result instanceof Map && found instanceof Map) result = new Map([...found, ...result]);
    else if (Array.isArray(result) && Array.isArray(found)) result = [...result, ...found];
  }
  return result ?? builtInSettings.get(name) ?? fallback;
}

/** A file mode with at least four digits: `644` becomes `0644`. `keep` stays. */
function normalizedMode(mode: Value): Value {
  if (mode === null) return null;
  const text = strOf(mode)
    .replaceAll("0o", "0")
    .replace(/^["']+|["']+$/g, "");
  return text.replace(/^0+/, "").padStart(4, "0");
}
