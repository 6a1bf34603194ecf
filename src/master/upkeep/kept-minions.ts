/** The minions' data for the main thread, which tells the log of damage. */
import { join } from "node:path";
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { type MinionData, openMinionData } from "../../store/minions/data.ts";

/** @throws SaltworksError STORE_FAILED */
export function openKeptMinions(
  config: Pick<MasterConfig, "cachedir">,
  logger: Pick<Logger, "error">,
  isReadOnly = false,
): MinionData {
  const onFault = (err: Error): void => logger.error({ err }, "the minions' data is damaged");
  return openMinionData({ path: join(config.cachedir, "minions.lmdb"), isReadOnly, onFault });
}
