/**
 * Finds a setting in the minion's configuration, its grains, its pillar, or the master's configuration in the pillar.
 * Source: Salt's `config.get`.
 */
import { isTrue } from "../../../python/values.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import type { CallContext } from "../../functions/module-contract.ts";
import { configToValue } from "../../functions/yaml-values.ts";
import { defaultDelimiter, traverse } from "./traverse.ts";

/** What settings come from. */
export type SettingContext = Pick<CallContext, "config" | "grains" | "pillar">;

export type SettingSources = {
  readonly omitsOptions?: boolean;
  readonly omitsGrains?: boolean;
  readonly omitsPillar?: boolean;
  readonly omitsMaster?: boolean;
};

/** Salt has these options only if they are configured. Here they have empty defaults, which must not hide grains or pillar. */
const absentWhenEmpty = ["mine_functions", "append_domain", "autosign_grains", "include", "output"];

/** The minion's configuration as a map, unknown keys included. Its member `grains` has all grains of the minion. */
export function optionsOf(context: SettingContext): ValueMap {
  const options: ValueMap = new Map();
  for (const [name, value] of context.config.opts) options.set(name, configToValue(value));
  for (const name of absentWhenEmpty) if (!isTrue(options.get(name) ?? null)) options.delete(name);
  return options.set("grains", context.grains());
}

/** The maps to search, in order. */
export function sourcesOf(context: SettingContext, sources: SettingSources = {}): ValueMap[] {
  const master = context.pillar().get("master");
  return [
    ...(sources.omitsOptions === true ? [] : [optionsOf(context)]),
    ...(sources.omitsGrains === true ? [] : [context.grains()]),
    ...(sources.omitsPillar === true ? [] : [context.pillar()]),
    ...(sources.omitsMaster === true || !(master instanceof Map) ? [] : [master]),
  ];
}

/** @returns undefined if no source has it */
export function findSetting(
  context: SettingContext,
  key: Value,
  delimiter = defaultDelimiter,
  sources: SettingSources = {},
): Value | undefined {
  for (const source of sourcesOf(context, sources)) {
    const found = traverse(source, key, delimiter);
    if (found !== undefined) return found;
  }
  return undefined;
}
