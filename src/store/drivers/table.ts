/** The drivers of the job cache, by the name that `master_job_cache` gives them. A further one is a file beside this and a line here. */

import { join } from "node:path";
import type { MasterConfig } from "../../config/schema.ts";
import { SaltworksError } from "../../errors.ts";
import type { JobStore } from "../jobs/job-cache.ts";
import { openLmdbJobCache } from "./lmdb/job-cache.ts";

/** What of the master's options decides where jobs are kept. */
export type JobCacheConfig = Pick<MasterConfig, "cachedir" | "store_shards" | "hash_type"> &
  Partial<
    Pick<MasterConfig, "master_job_cache" | "job_cache_durability" | "job_cache_store_endtime" | "local_cache_loads">
  >;

export type DriverOptions = {
  /** Changes nothing; a job cache that no master has made reads as empty. */
  readonly isReadOnly?: boolean;
  /** Gets failures of work in the background, which is tried again, and each damaged record once. Without it: a warning of the process. */
  readonly onFault?: ((error: Error) => void) | undefined;
  /** Gets what an answer lacks because its record is damaged, each time. */
  readonly onLeftOut?: ((text: string) => void) | undefined;
  /** Gets the keys of returns once they can be read. */
  readonly onStored?: ((returnKeys: readonly Buffer[]) => void) | undefined;
  /** How long returns may wait until `onStored` gets their keys, milliseconds, where that is less than usual. */
  readonly storeDelayMs?: number | undefined;
};
type OpenDriver = (config: JobCacheConfig, o: DriverOptions) => JobStore;

/** Where the driver `lmdb` keeps jobs. */
export function lmdbJobsPath(cachedir: string): string {
  return join(cachedir, "jobs.lmdb");
}

const openLmdb: OpenDriver = (config, o) =>
  openLmdbJobCache({
    path: lmdbJobsPath(config.cachedir),
    shards: config.store_shards,
    durability: config.job_cache_durability ?? "async",
    storesEndTime: config.job_cache_store_endtime ?? false,
    ...o,
  });

const drivers: Readonly<Record<string, OpenDriver>> = {
  lmdb: openLmdb,
  // LMDB keeps the jobs, and Salt's own files follow it: see `openJobCache`.
  local_cache: openLmdb,
};

/** @throws SaltworksError STORE_FAILED, STORE_DAMAGED, CONFIG_INVALID */
export function openDriver(config: JobCacheConfig, o: DriverOptions): JobStore {
  const name = config.master_job_cache ?? "lmdb";
  const open = drivers[name];
  if (open === undefined) throw new SaltworksError("CONFIG_INVALID", `master_job_cache: there is no driver ${name}`);
  return open(config, o);
}
