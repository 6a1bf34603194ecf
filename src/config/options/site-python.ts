/** Options of the sidecar, which runs a site's own Python through the operator's Salt, and the kinds of plug-ins that it can serve. */

import { type ConfigValue, isConfigMap } from "../yaml/values.ts";
import { ours, path } from "./details.ts";
import { any, integer, text } from "./option.ts";

/** Kinds of plug-ins, named as the folders of Salt's loader where there is one. */
export const pluginKinds = [
  "pillar",
  "renderers",
  "tops",
  "auth",
  "event_return",
  "engines",
  "fileserver",
  "job_cache",
] as const;
export type PluginKind = (typeof pluginKinds)[number];

/** A plug-in that the configuration names and that this program does not have itself. `option`: where it is named. */
export type SitePlugin = { readonly option: string; readonly kind: PluginKind; readonly name: string };

export const sitePythonOptions = {
  extension_modules: text(
    "/var/cache/salt/master/extmods",
    "Directory of the site's own modules for the master, in Python.",
    path,
  ),
  salt_python: any(
    "auto",
    "The Python that has Salt, for the site's own Python in the master: the path of an interpreter. `auto`: that of the Salt programs on this machine. `False`: none.",
    ours,
  ),
  salt_python_processes: integer(
    2,
    "Python processes for pillars and master_tops; as many more for logins, for runner and wheel functions, and for `caller` reactions. They start at need.",
    { ...ours, min: 1, max: 64, unit: "processes" },
  ),
  salt_python_memory: integer(
    2_048,
    "Address space of one of these processes. One that needs more ends, and another replaces it.",
    { ...ours, min: 512, max: 1_048_576, unit: "MiB" },
  ),
} as const;

/** An entry of `engines`. `module`: the plug-in, which has another name than the entry if the entry has `engine_module`. */
export type EngineEntry = { readonly name: string; readonly module: string; readonly place: number };

/** The engines of the option, a list of names and of maps with one name each, or a map. `place`: the number of the entry. */
export function engineEntries(value: ConfigValue): readonly EngineEntry[] {
  const entries: readonly ConfigValue[] = Array.isArray(value)
    ? value
    : isConfigMap(value)
      ? Object.entries(value).map(([name, options]) => ({ [name]: options }))
      : [];
  return entries.flatMap((entry, place) => {
    if (typeof entry === "string") return [{ name: entry, module: entry, place }];
    if (!isConfigMap(entry)) return [];
    const [[name, options] = ["", null]] = Object.entries(entry);
    const module = isConfigMap(options) ? options.engine_module : undefined;
    return name === "" ? [] : [{ name, module: typeof module === "string" ? module : name, place }];
  });
}
