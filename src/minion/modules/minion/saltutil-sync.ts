/**
 * `saltutil.sync_*`: in Salt these functions fetch custom modules. Those are in Python and cannot run in this minion. If the master does not
 * serve any, the function returns an empty list; otherwise it fails with their names.
 */

import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Encodable, Value } from "../../../wire/values.ts";
import { commandError } from "../../functions/errors.ts";
import type { BoundArguments, CallContext, ModuleFunction } from "../../functions/module-contract.ts";
import { configToValue } from "../../functions/yaml-values.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import { namesIn } from "../machine/file-error.ts";

/** Kinds of custom modules, in the order and with the names of `sync_all`'s result. The directory of `proxymodules` is `_proxy`. */
const kinds = [
  ...["clouds", "beacons", "modules", "states", "sdb", "grains", "renderers", "returners", "output", "utils"],
  ...["log_handlers", "executors", "proxymodules", "engines", "thorium", "serializers", "matchers"],
];
/** Kinds that only a minion without a master fetches, from its own files. */
const masterlessKinds = ["tops", "pillar", "wrapper"];

function directoryOf(kind: string): string {
  return kind === "proxymodules" ? "_proxy/" : `_${kind}/`;
}

/** The parameters of a function, which differ by kind as in Salt. */
function parametersOf(kind: string): string {
  const lists = "extmod_whitelist=None, extmod_blacklist=None";
  if (kind === "sdb") return `saltenv=None, ${lists}`;
  const isQuiet = ["engines", "matchers", "proxymodules", "thorium"].includes(kind);
  const more = kind === "grains" || kind === "pillar" ? ", clean_pillar_cache=False" : "";
  return `saltenv=None, refresh=${isQuiet ? "False" : "True"}, ${lists}${more}`;
}

function syncFunction(kind: string): ModuleFunction {
  return {
    ...signature(parametersOf(kind)),
    pythonName: `sync_${kind}`,
    doc: describe(`Fetches custom ${kind} from the master: an empty list if it has none.`, `saltutil.sync_${kind}`),
    run: async (context, args) => {
      const files = await servedFiles(context, argument(args, "saltenv"));
      assertNone(files, [kind]);
      if (isTrue(args.named.refresh ?? null)) await refreshAfter(context, kind, args);
      return [];
    },
  };
}

const refreshesPillar = new Set(["grains", "pillar"]);

async function refreshAfter(context: CallContext, kind: string, args: BoundArguments): Promise<void> {
  if (!refreshesPillar.has(kind)) return await context.fireMinion("module_refresh", {});
  await context.fireMinion("pillar_refresh", { clean_cache: isTrue(args.named.clean_pillar_cache ?? null) });
}

const syncAll: ModuleFunction = {
  ...signature("saltenv=None, refresh=True, extmod_whitelist=None, extmod_blacklist=None, clean_pillar_cache=False"),
  doc: describe(
    "Fetches all custom modules from the master: a map of empty lists if it has none.",
    "saltutil.sync_all",
  ),
  run: async (context, args) => {
    const all = context.config.file_client === "local" ? [...kinds, ...masterlessKinds] : kinds;
    assertNone(await servedFiles(context, argument(args, "saltenv")), all);
    if (isTrue(argument(args, "refresh"))) await refreshAfter(context, "pillar", args);
    return new Map(all.map((kind): [Value, Encodable] => [kind, []]));
  },
};

export const syncFunctions: ModuleFunctions = {
  "saltutil.sync_all": syncAll,
  "saltutil.sync_outputters": syncFunction("output"),
  ...Object.fromEntries([...kinds, ...masterlessKinds].map((kind) => [`saltutil.sync_${kind}`, syncFunction(kind)])),
};

/** The files that the file server has in these environments. */
async function servedFiles(context: CallContext, saltenv: Value): Promise<string[]> {
  const asked = Array.isArray(saltenv) ? saltenv.map(strOf) : isTrue(saltenv) ? strOf(saltenv).split(",") : [];
  const environments = asked.length > 0 ? asked : [context.config.saltenv ?? "base"];
  if (context.config.file_client === "local") return environments.flatMap((name) => localFiles(context, name));
  const files: string[] = [];
  for (const environment of environments) {
    const reply = await context.masterRequest({ cmd: "_file_list", saltenv: environment, prefix: "" });
    if (Array.isArray(reply)) files.push(...reply.map(strOf));
  }
  return files;
}

function localFiles(context: CallContext, environment: string): string[] {
  const roots = configToValue(context.config.file_roots[environment] ?? []);
  const directories = [...kinds, ...masterlessKinds].map(directoryOf);
  return (Array.isArray(roots) ? roots : []).flatMap((root) =>
    directories.flatMap((directory) => namesIn(`${strOf(root)}/${directory}`).map((name) => directory + name)),
  );
}

/** @throws SaltworksError FUNCTION_FAILED with the names of the files */
function assertNone(files: readonly string[], wanted: readonly string[]): void {
  const found = files.filter((file) => wanted.some((kind) => file.startsWith(directoryOf(kind))));
  if (found.length === 0) return;
  throw commandError(`Modules in Python cannot run on this minion and were not fetched: ${found.join(", ")}`);
}
