/** The job cache of this machine's master, for reading only: works with the master down, and beside one that runs. */
import { join } from "node:path";
import type { MasterConfig } from "../config/load.ts";
import { openLmdbJobCache } from "../store/drivers/lmdb/job-cache.ts";
import type { JobCache } from "../store/jobs/job-cache.ts";
import { withOldJobs } from "../store/salt/job-reader.ts";

/** The part of the job cache that only reads. */
export type JobArchive = Pick<
  JobCache,
  "getLoad" | "getRequest" | "getReturns" | "getReturn" | "getEndTime" | "listJids" | "findJids" | "close"
>;

/** Empty if no master ever stored a job here. Jobs that a Salt master left are found as well. */
export function openJobArchive(config: Pick<MasterConfig, "cachedir" | "store_shards" | "hash_type">): JobArchive {
  const { cachedir, hash_type: hashType, store_shards: shards } = config;
  const path = join(cachedir, "jobs.lmdb");
  return withOldJobs(openLmdbJobCache({ path, shards, durability: "async", isReadOnly: true }), { cachedir, hashType });
}
