/** What the master keeps of its minions, read from its store by the master's own machine: works with the master down. */
import { join } from "node:path";
import type { MasterConfig } from "../config/load.ts";
import { type MinionData, openMinionData } from "../store/minions/data.ts";

/** Close it when done. One that no master has made yet reads as empty. @throws SaltworksError STORE_FAILED */
export function openMinionArchive(
  config: Pick<MasterConfig, "cachedir">,
): Pick<MinionData, "get" | "getMine" | "ids" | "close"> {
  return openMinionData({ path: join(config.cachedir, "minions.lmdb"), isReadOnly: true });
}
