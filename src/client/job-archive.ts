/** The job cache of this machine's master, for reading only: works with the master down, and beside one that runs. */
import { join } from "node:path";
import type { MasterConfig } from "../config/load.ts";
import type { JobCache } from "../store/job-cache.ts";
import { openLmdbJobCache } from "../store/lmdb-job-cache.ts";

/** The part of the job cache that only reads. */
export type JobArchive = Pick<
  JobCache,
  "getLoad" | "getRequest" | "getReturns" | "getReturn" | "getEndTime" | "listJids" | "findJids" | "close"
>;

/** Empty if no master ever stored a job here. */
export function openJobArchive(config: Pick<MasterConfig, "cachedir" | "store_shards">): JobArchive {
  const path = join(config.cachedir, "jobs.lmdb");
  return openLmdbJobCache({ path, shards: config.store_shards, durability: "async", isReadOnly: true });
}
