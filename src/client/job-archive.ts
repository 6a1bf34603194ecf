/** Opens the job cache of this machine's master for reading, whether the master runs or not. */
import type { MasterConfig } from "../config/load.ts";
import { type JobReader, openJobReader } from "../store/drivers/open-job-cache.ts";

/** Includes jobs that a Salt master left. Empty if no master ever stored a job here. */
export function openJobArchive(config: Pick<MasterConfig, "cachedir" | "store_shards" | "hash_type">): JobReader {
  return openJobReader(config, { isReadOnly: true });
}
