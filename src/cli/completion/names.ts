/** Finds the names for completion: ids in the key directories, nodegroups in the configuration, functions in the registries. */
import { KeyAdmin } from "../../client/key-admin.ts";
import { loadMasterConfig } from "../../config/load.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { loadModules } from "../../minion/modules/registry.ts";
import { runnerFunctions } from "../../runners/registry.ts";
import { defaultConfigDir } from "../start/configuration.ts";
import type { Names } from "./candidates.ts";

/** Returns no names after any error, because a message would disturb the line that the operator types. */
function orNone<Item>(step: () => readonly Item[]): readonly Item[] {
  try {
    return step();
  } catch {
    return [];
  }
}

function configOf(words: readonly string[]): MasterConfig {
  const joined = words.findLast((word) => word.startsWith("--config-dir="))?.slice("--config-dir=".length);
  const index = words.findLastIndex((word) => word === "-c" || word === "--config-dir");
  return loadMasterConfig(joined ?? (index < 0 ? undefined : words[index + 1]) ?? defaultConfigDir);
}

export const machineNames: Names = {
  minionIds: (words, states) =>
    orNone(() => {
      const lists = new KeyAdmin(configOf(words)).list();
      const ids = [...lists].flatMap(([state, listed]) => (states.includes(state) ? listed : []));
      return [...new Set(ids)].sort();
    }),
  nodegroups: (words) => orNone(() => Object.keys(configOf(words).nodegroups).sort()),
  executionFunctions: () => [...loadModules({ disable_modules: [], whitelist_modules: [] }, {}).keys()].sort(),
  runnerFunctions: () => [...runnerFunctions.keys()].sort(),
};
