/** How a program treats one setting of its configuration: whether it acts, has no effect, is missing, is misspelt, or is the site's own. */
import { isDeepStrictEqual } from "node:util";
import { nearestNames } from "./edit-distance.ts";
import type { Setting, Settings } from "./files/settings.ts";
import type { OptionTable } from "./options/option.ts";
import { otherDefaultOf } from "./options/other-defaults.ts";
import { isEmpty, isUnbuilt, unbuiltOptions } from "./options/unbuilt.ts";
import { isIgnored, otherSaltNames } from "./other-names.ts";
import { masterOptions, minionOptions } from "./schema.ts";
import type { ConfigValue } from "./yaml/values.ts";

/**
 * `acts`: as in Salt, also where the value asks for nothing. `kept`: read and checked, without effect. `ignored`: an option of Salt without effect.
 * `unbuilt`: its function is missing (options/unbuilt.ts). `elsewhere`: another program of Salt's reads it, or a plug-in. `own`: not an option, but
 * `config.get` and templates see it. `misspelt`: it resembles an option.
 */
export type Standing = "acts" | "kept" | "ignored" | "unbuilt" | "elsewhere" | "own" | "misspelt";

export type Role = { readonly name: "master" | "minion"; readonly table: OptionTable };

export function standingOf(name: string, setting: Setting, settings: Settings, { name: role, table }: Role): Standing {
  const option = Object.hasOwn(table, name) ? table[name] : undefined;
  // A minion acts on its own options, or keeps them.
  const isMaybeUnbuilt = Object.hasOwn(unbuiltOptions, name) && (role === "master" || option === undefined);
  if (isMaybeUnbuilt && isUnbuilt(name, setting, settings)) return "unbuilt";
  if (option !== undefined) {
    const isDefault = setting.value === null || isDeepStrictEqual(setting.value, option.default);
    return option.isKept && !isDefault ? "kept" : "acts";
  }
  if (isMaybeUnbuilt) return "acts";
  if (isIgnored(name, role)) return isDefaultOf(name, role, setting.value) ? "acts" : "ignored";
  if (isKnownAnywhere(name) || isOfPlugIn(name)) return "elsewhere";
  return nearMissOf(name, table) === undefined ? "own" : "misspelt";
}

/** The option that a name which is none resembles most. */
export function nearMissOf(name: string, table: OptionTable): string | undefined {
  if (isKnownAnywhere(name) || isOfPlugIn(name)) return undefined;
  return nearestNames(name, Object.keys(table))[0];
}

function isKnownAnywhere(name: string): boolean {
  return name in masterOptions || name in minionOptions || otherSaltNames.has(name);
}

/** A dot marks a setting of a plug-in, such as `mysql.host`. */
function isOfPlugIn(name: string): boolean {
  return name.includes(".");
}

/** Whether a value is Salt's default. An unknown default counts as empty. */
function isDefaultOf(name: string, role: "master" | "minion", value: ConfigValue): boolean {
  if (value === null) return true;
  const usual = otherDefaultOf(name, role);
  return usual === undefined ? isEmpty(value) : isDeepStrictEqual(value, usual);
}
