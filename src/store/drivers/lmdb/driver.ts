/** The driver `lmdb`: the job cache in LMDB files in the cache directory. */
import { join } from "node:path";
import { feedKindOf } from "../../../config/options/job-cache-drivers.ts";
import type { JobCacheConfig, JobCacheDriver } from "../contract/driver.ts";
import { checkJobLogs, checkJobs } from "./checks.ts";
import { LmdbJobFeed } from "./feed.ts";
import { LmdbJobImport } from "./import-jobs.ts";
import { openLmdbJobCache } from "./job-cache.ts";
import { LmdbKeyedReturns } from "./keyed-returns.ts";
import { ensureLayout } from "./layout.ts";
import { prepareJobCache } from "./prepare.ts";
import { openShards, type Shard } from "./records.ts";
import { openJobWalk } from "./walk-jids.ts";

const directoryName = "jobs.lmdb";

function pathIn({ cachedir }: JobCacheConfig): string {
  return join(cachedir, directoryName);
}

function settingsIn(config: JobCacheConfig) {
  return {
    shards: config.store_shards ?? 1,
    storesEndTime: config.job_cache_store_endtime ?? false,
    feeds: feedKindOf(config),
  };
}

/** The files, for a thread that writes them beside the workers. */
function shardsOf(config: JobCacheConfig): readonly Shard[] {
  const path = pathIn(config);
  const { shards } = ensureLayout(path, settingsIn(config).shards);
  return openShards(path, shards, (config.job_cache_durability ?? "async") === "fsync");
}

export const lmdbDriver: JobCacheDriver = {
  cacheNames: [directoryName],
  place: pathIn,
  open: (config, o) =>
    openLmdbJobCache({
      path: pathIn(config),
      ...settingsIn(config),
      durability: config.job_cache_durability ?? "async",
      ...o,
    }),
  prepare: (config, o) => prepareJobCache(pathIn(config), settingsIn(config), o),
  checks: (config) => [
    { what: "jobs", place: pathIn(config), check: async (tally, look) => checkJobs(tally, look) },
    {
      what: "returns that wait in logs",
      place: pathIn(config),
      check: async (tally, look) => checkJobLogs(tally, look),
    },
  ],
  openFeed: (config) => new LmdbJobFeed(shardsOf(config)),
  openImport: (config) => new LmdbJobImport(shardsOf(config), settingsIn(config).storesEndTime),
  openWalk: (config) => openJobWalk(pathIn(config)),
  openKeyedReturns: (config, onFault) => new LmdbKeyedReturns(pathIn(config), onFault),
};
