/**
 * The drivers of the job cache, by their names in `master_job_cache`. A new driver needs a folder beside `lmdb/` and a line in `drivers` below. A database needs its folder in
 * src/databases/, and its line here names LMDB, which feeds it.
 * Config may not import stores, so the name and the options that only this driver reads are a row in config/options/job-cache-drivers.ts. This
 * file compiles only if both tables have the same names.
 */

import { type JobCacheDriverName, jobCacheDriverNames } from "../../config/options/job-cache-drivers.ts";
import type { JobCacheConfig, JobCacheDriver } from "./contract/driver.ts";
import { lmdbDriver } from "./lmdb/driver.ts";

const drivers: Readonly<Record<JobCacheDriverName, JobCacheDriver>> = {
  lmdb: lmdbDriver,
  // LMDB stores the jobs; Salt's own files are written from it. See `openJobCacheWriter`.
  local_cache: lmdbDriver,
  // LMDB stores the jobs; the database gets a copy of its feed. See src/databases/.
  mysql: lmdbDriver,
  pgjsonb: lmdbDriver,
  postgres: lmdbDriver,
  redis: lmdbDriver,
  sqlite3: lmdbDriver,
};

export function driverOf({
  master_job_cache: name = "lmdb",
}: Pick<JobCacheConfig, "master_job_cache">): JobCacheDriver {
  return drivers[name];
}

/** The names that choose the same driver as `config` does. */
export function namesOfSameJobs(config: Pick<JobCacheConfig, "master_job_cache">): JobCacheDriverName[] {
  const driver = driverOf(config);
  return jobCacheDriverNames.filter((name) => drivers[name] === driver);
}

/** Names in the cache directory that belong to a driver, in use or not. */
export const driversCacheNames: ReadonlySet<string> = new Set(
  Object.values(drivers).flatMap(({ cacheNames }) => cacheNames),
);
