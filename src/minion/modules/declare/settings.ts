/** Finds a setting in the minion's configuration, its grains, its pillar, or the master's configuration in the pillar. Source: Salt's `config.get`. */
import { isTrue } from "../../../python/values.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import type { CallContext } from "../../functions/module-contract.ts";
import { configToValue } from "../../functions/yaml-values.ts";
import { defaultDelimiter, traverse } from "./traverse.ts";

export type SettingSources = {
  readonly omitsOptions?: boolean;
  readonly omitsGrains?: boolean;
  readonly omitsPillar?: boolean;
  readonly omitsMaster?: boolean;
};

/** Options that do not exist in Salt unless configured. Here an empty one must not hide what grains or pillar say. */
const absentWhenEmpty = ["mine_functions", "append_domain", "autosign_grains", "include", "output"];

/** The minion's configuration as a map, unknown keys included; its `grains` are all grains. */
export function optionsOf(context: CallContext): ValueMap {
  const options: ValueMap = new Map();
  for (const [name, value] of context.config.opts) options.set(name, configToValue(value));
  for (const name of absentWhenEmpty) if (!isTrue(options.get(name) ?? null)) options.delete(name);
  return options.set("grains", context.grains());
}

/** The maps to search, in order. */
export function sourcesOf(context: CallContext, sources: SettingSources = {}): ValueMap[] {
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
  context: CallContext,
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
