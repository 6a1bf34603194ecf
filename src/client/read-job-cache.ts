/** Opens the job cache of this machine's master for reading, whether the master runs or not. */
import type { MasterConfig } from "../config/load.ts";
import { type ClosableJobReader, openJobCacheReader } from "../store/drivers/open-job-cache.ts";

/** Includes jobs that a Salt master left. Empty if no master ever stored a job here. */
export function openJobCacheReadOnly(
  config: Pick<MasterConfig, "cachedir" | "store_shards" | "hash_type">,
): ClosableJobReader {
  return openJobCacheReader(config, { isReadOnly: true });
}
