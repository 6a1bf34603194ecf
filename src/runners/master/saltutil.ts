/**
 * Runner `saltutil`: syncs the site's own modules for the master, in Python. The sidecar answers where there is a Python with Salt; here is what a
 * master without one says.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { parametersOf, textArgument } from "../contract/arguments.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";

function rootsOf({ config }: RunnerContext): ReadonlyMap<string, readonly string[]> {
  const roots = Object.entries(config.file_roots as Readonly<Record<string, unknown>>);
  return new Map(roots.map(([name, folders]) => [name, Array.isArray(folders) ? folders.map(String) : []]));
}

/** Kinds of modules whose name in the function differs from their folder's name in a file root. */
const moduleFolders: Readonly<Record<string, string>> = { proxymodules: "proxy", eauth_tokens: "tokens" };
const moduleKinds = [
  ..."cache clouds engines executors fileserver grains modules output pillar proxymodules queues renderers returners".split(
    " ",
  ),
  ..."roster runners sdb serializers states thorium eauth_tokens tops utils wheel wrapper".split(" "),
];

/** Returns an empty list, or fails if operators keep Python modules, which cannot run here. */
function sync(context: RunnerContext, args: ValueMap, kind: string): Encodable[] {
  const folder = `_${moduleFolders[kind] ?? kind}`;
  const found = (rootsOf(context).get(textArgument(args, "saltenv", "base")) ?? []).flatMap((root) =>
    filesIn(join(root, folder)).map((name) => `${folder}/${name}`),
  );
  if (found.length === 0) return [];
  throw new SaltworksError(
    "FUNCTION_FAILED",
    `without a Python with Salt (salt_python) this master runs no modules in Python: ${found.join(", ")}`,
  );
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /\.(py|pyx|so|zip)$/.test(name));
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}

const syncParameters = parametersOf("saltenv", "extmod_whitelist", "extmod_blacklist");

function shownKind(kind: string): string {
  return kind === "eauth_tokens" ? "tokens" : kind;
}

/** Kinds of modules that minions fetch: `sync_all` counts only modules that the master would run. */
const minionKinds = new Set([
  "grains",
  "modules",
  "states",
  "renderers",
  "returners",
  "proxymodules",
  "utils",
  "output",
]);

function syncAll(context: RunnerContext, args: ValueMap): Encodable {
  const lists = moduleKinds.map((kind): [string, Encodable] => [
    shownKind(kind),
    minionKinds.has(kind) ? [] : sync(context, args, kind),
  ]);
  return new Map(lists);
}

export const saltutilRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "saltutil.sync_all",
    {
      parameters: syncParameters,
      doc: "Brings the site's own modules for the master, in Python, from the file roots to extension_modules. Without a Python with Salt it fails with their names, if there are any.",
      isOffline: true,
      run: syncAll,
    },
  ],
  ...moduleKinds.map((kind): [string, RunnerFunction] => [
    `saltutil.sync_${kind}`,
    {
      parameters: syncParameters,
      doc: `The same for ${kind} alone.`,
      isOffline: true,
      run: (context, args) => sync(context, args, kind),
    },
  ]),
]);
