/** Opens the job cache of this machine's master for reading, whether the master runs or not. */
import { join } from "node:path";
import type { MasterConfig } from "../config/load.ts";
import { openLmdbJobCache } from "../store/drivers/lmdb/job-cache.ts";
import type { JobCache } from "../store/jobs/job-cache.ts";
import { withOldJobs } from "../store/salt/job-reader.ts";

/** The methods of the job cache that only read. */
export type JobArchive = Pick<
  JobCache,
  "getLoad" | "getRequest" | "getReturns" | "getReturn" | "getEndTime" | "listJids" | "findJids" | "close"
>;

/** Includes jobs that a Salt master left. Empty if no master ever stored a job here. */
export function openJobArchive(config: Pick<MasterConfig, "cachedir" | "store_shards" | "hash_type">): JobArchive {
  const { cachedir, hash_type: hashType, store_shards: shards } = config;
  const path = join(cachedir, "jobs.lmdb");
  return withOldJobs(openLmdbJobCache({ path, shards, durability: "async", isReadOnly: true }), { cachedir, hashType });
}
