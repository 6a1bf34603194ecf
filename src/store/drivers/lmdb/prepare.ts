/** Prepares the LMDB job cache for a master that starts. docs/decisions/0024-damaged-stores.md. */
import { existsSync } from "node:fs";
import { storeDamaged } from "../../disk/store-error.ts";
import type { FeedKind } from "../../jobs/job-feed.ts";
import { examineFiles, fillLockFiles, isEmptyFile } from "../../lmdb/examine.ts";
import type { PrepareOptions } from "../contract/driver.ts";
import { readLayout, shardFile } from "./layout.ts";
import { absorbJobLogs, clearJobFeeds, indexJobCache, reshardJobCache } from "./reshard.ts";

export type Wanted = { readonly shards: number; readonly storesEndTime: boolean; readonly feeds: FeedKind };

/**
 * Examines the files, brings the logs of a killed master in, spreads the jobs over another number of files, and builds a missing index.
 *
 * @throws SaltworksError STORE_DAMAGED, STORE_FAILED
 */
export async function prepareJobCache(
  path: string,
  { shards, storesEndTime, feeds }: Wanted,
  { onStored, logger }: PrepareOptions,
): Promise<void> {
  fillLockFiles(path);
  refuseEmptyCache(path);
  examineFiles(path);
  const options = { storesEndTime, areReturnsFed: feeds === "all", queue: { addReturns: onStored } };
  for (const fault of await absorbJobLogs(path, options)) logger.error(fault);
  const formerShards = await reshardJobCache(path, shards, options);
  if (formerShards !== undefined)
    logger.info({ from: formerShards, to: shards }, "moved the job cache to another number of files");
  const indexedJobs = await indexJobCache(path);
  if (feeds === "none") await clearJobFeeds(path);
  if (indexedJobs !== undefined) logger.info({ jobs: indexedJobs }, "built the job cache's index");
}

/**
 * Refuses a job cache with an empty or missing file. Its layout is written after its files, so the file held acknowledged data.
 *
 * @throws SaltworksError STORE_DAMAGED
 */
function refuseEmptyCache(path: string): void {
  const layout = readLayout(path);
  if (layout === undefined) return;
  for (let shard = 0; shard < layout.shards; shard += 1) {
    const file = shardFile(path, shard);
    const what = existsSync(file) ? (isEmptyFile(file) ? "is empty" : undefined) : "is missing";
    const advice = `Put back a copy of the file, or move ${path} away: what it held is then gone, and the master makes a new one`;
    if (what !== undefined) throw storeDamaged(`${file} ${what}, and jobs were stored there`, advice);
  }
}
