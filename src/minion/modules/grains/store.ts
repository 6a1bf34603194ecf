/** Stores grains that functions set: in the grains file and in this job's grains. Then makes the minion refresh its own. */
import type { Value, ValueMap } from "../../../wire/values.ts";
import { commandError } from "../../functions/errors.ts";
import { applyTo } from "../../functions/grains-change.ts";
import type { CallContext, GrainsChange } from "../../functions/module-contract.ts";
import { isFileError } from "../machine/file-error.ts";
import { grainsFileOf } from "./core.ts";
import { parseGrainsFile, writeGrainsFile } from "./file.ts";

export type StoreOptions = {
  /** A null removes the grain. */
  readonly isDestructive: boolean;
  readonly refreshesPillar: boolean;
};

/** @returns the grains that were set, or a text if the file cannot be read */
export async function storeGrains(
  context: CallContext,
  changes: ValueMap,
  options: StoreOptions,
): Promise<ValueMap | string> {
  const path = grainsFileOf(context.config);
  const stored = parseGrainsFile(path) ?? new Map<Value, Value>();
  if (typeof stored === "string") return `Unable to read existing grains file: ${stored}`;
  const change = changeOf(changes, options);
  for (const grains of [stored, context.grains()]) applyTo(grains, change);
  try {
    writeGrainsFile(path, stored);
  } catch (cause) {
    if (!isFileError(cause)) throw cause;
    // Salt only logs this and reports success.
    throw Object.assign(commandError(`Unable to write to grains file at ${path}: ${cause.code}`), { cause });
  }
  await context.setGrains(change);
  await refreshGrains(context, options.refreshesPillar);
  return changes;
}

function changeOf(changes: ValueMap, { isDestructive }: StoreOptions): GrainsChange {
  const isRemoved = ([, value]: readonly [Value, Value]) => value === null && isDestructive;
  const entries = [...changes];
  return {
    set: new Map(entries.filter((entry) => !isRemoved(entry))),
    removed: entries.filter(isRemoved).map(([name]) => name),
  };
}

/** Makes the minion collect its grains again. If the pillar is refreshed too, the master renders it with the new grains. */
export async function refreshGrains(context: CallContext, refreshesPillar: boolean): Promise<void> {
  if (refreshesPillar) await context.fireMinion("pillar_refresh", { clean_cache: false });
  else await context.fireMinion("grains_refresh", { force_refresh: false });
}
