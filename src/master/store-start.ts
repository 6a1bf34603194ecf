/**
 * The stores at a start, before any part opens them: what an earlier release, another setting or a crash left is brought into the present form, and
 * what is damaged is said in words. docs/decisions/0024-damaged-stores.md.
 */
import { readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import { hasCodeIn } from "../config/file-errors.ts";
import type { MasterConfig } from "../config/load.ts";
import { hasCode } from "../errors.ts";
import { examineFile } from "../store/lmdb-env.ts";
import { absorbJobLogs, indexJobCache, reshardJobCache } from "../store/lmdb-reshard.ts";
import { fillLockFile } from "../store/lmdb-room.ts";

const dataSuffix = ".mdb";

/** @throws SaltworksError STORE_DAMAGED, STORE_FAILED: what was promised to somebody cannot be read, and the master must not start without it */
export async function prepareStores(config: MasterConfig, logger: Logger): Promise<void> {
  const directories = ["jobs.lmdb", "minions.lmdb", "pending-jobs.lmdb"].map((name) => join(config.cachedir, name));
  for (const directory of directories) for (const file of dataFilesIn(directory)) fillLockFile(file);
  setAsideMinionData(join(config.cachedir, "minions.lmdb", "data.mdb"), logger);
  for (const directory of directories) for (const file of dataFilesIn(directory)) examineFile(file);
  await prepareJobCache(join(config.cachedir, "jobs.lmdb"), config.store_shards, logger);
}

function dataFilesIn(directory: string): string[] {
  try {
    const names = readdirSync(directory).filter((name) => name.endsWith(dataSuffix));
    return names.map((name) => join(directory, name));
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return [];
    throw error;
  }
}

/** Grains, pillars, mines and sessions can all be asked for again: damage there is no reason not to start. */
function setAsideMinionData(file: string, logger: Logger): void {
  try {
    examineFile(file);
  } catch (error) {
    if (!hasCode(error, "STORE_DAMAGED")) throw error;
    const aside = `${file}.damaged`;
    renameSync(file, aside);
    rmSync(`${file}-lock`, { force: true });
    logger.error(
      { err: error },
      `what was known of the minions cannot be read: it was set aside as ${aside}, and minions are asked again as they come`,
    );
  }
}

async function prepareJobCache(path: string, shards: number, logger: Logger): Promise<void> {
  const damaged = await absorbJobLogs(path);
  for (const fault of damaged) logger.error(fault);
  const formerShards = await reshardJobCache(path, shards);
  if (formerShards !== undefined)
    logger.info({ from: formerShards, to: shards }, "moved the job cache to another number of files");
  const indexedJobs = await indexJobCache(path);
  if (indexedJobs !== undefined) logger.info({ jobs: indexedJobs }, "built the job cache's index");
}
