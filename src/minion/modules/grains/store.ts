/** Keeps grains that functions set: in the file beside the configuration, in this job's own view, and by a refresh in the minion. */
import type { Value, ValueMap } from "../../../wire/values.ts";
import { commandError } from "../../functions/errors.ts";
import type { CallContext } from "../../functions/module-contract.ts";
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
  for (const [name, value] of changes) {
    for (const grains of [stored, context.grains()]) {
      if (value === null && options.isDestructive) grains.delete(name);
      else grains.set(name, value);
    }
  }
  try {
    writeGrainsFile(path, stored);
  } catch (cause) {
    if (!isFileError(cause)) throw cause;
    // Salt only logs this and reports success.
    throw Object.assign(commandError(`Unable to write to grains file at ${path}: ${cause.code}`), { cause });
  }
  await refreshGrains(context, options.refreshesPillar);
  return changes;
}

/** Makes the minion collect its grains again. If the pillar is refreshed too, the master renders it with the new grains. */
export async function refreshGrains(context: CallContext, refreshesPillar: boolean): Promise<void> {
  if (refreshesPillar) await context.fireMinion("pillar_refresh", { clean_cache: false });
  else await context.fireMinion("grains_refresh", { force_refresh: false });
}
