/** Opens the master's data about its minions for reading on the master's machine, whether the master runs or not. */
import { join } from "node:path";
import type { MasterConfig } from "../config/load.ts";
import { type MinionData, openMinionData } from "../store/minions/data.ts";

/** The caller closes it. A store that no master has made yet reads as empty. @throws SaltworksError STORE_FAILED */
export function openMinionDataReadOnly(
  config: Pick<MasterConfig, "cachedir">,
): Pick<MinionData, "get" | "getMine" | "ids" | "close"> {
  return openMinionData({ path: join(config.cachedir, "minions.lmdb"), isReadOnly: true });
}
