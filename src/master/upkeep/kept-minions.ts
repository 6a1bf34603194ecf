/** The minions' data for the main thread, which tells the log of damage. In a cluster, what it writes goes to the other members. */
import { join } from "node:path";
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { type MinionData, openMinionData } from "../../store/minions/data.ts";
import { sharedMinions } from "../../store/minions/shared-minions.ts";

/** @throws SaltworksError STORE_FAILED */
export function openKeptMinions(
  config: Pick<MasterConfig, "cachedir"> & Partial<Pick<MasterConfig, "cluster_id">>,
  logger: Pick<Logger, "error">,
  isReadOnly = false,
): MinionData {
  const onFault = (err: Error): void => logger.error({ err }, "the minions' data is damaged");
  const isShared = (config.cluster_id ?? "") !== "" && !isReadOnly;
  const minions = openMinionData({ path: join(config.cachedir, "minions.lmdb"), isReadOnly, isShared, onFault });
  return minions.marks === undefined ? minions : sharedMinions(minions, minions.marks);
}
