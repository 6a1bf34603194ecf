/**
 * Prepares the stores before any part opens them: converts what an earlier release, another setting or a crash left, and reports damage in words.
 * docs/decisions/0024-damaged-stores.md.
 */
import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { storeDamaged, storeFailed } from "../../store/disk/store-error.ts";
import { readLayout, shardFile } from "../../store/drivers/lmdb/layout.ts";
import { absorbJobLogs, indexJobCache, reshardJobCache } from "../../store/drivers/lmdb/reshard.ts";
import { examineFile, wasNeverWritten } from "../../store/lmdb/env.ts";
import { fillLockFile } from "../../store/lmdb/room.ts";
import { walkFile } from "../../store/lmdb/walk.ts";
import { SaltFeed, saltFeedFile } from "../../store/salt/feed.ts";

const dataSuffix = ".mdb";

/** @throws SaltworksError STORE_DAMAGED, STORE_FAILED if acknowledged data cannot be read: the master must not start without it */
export async function prepareStores(config: MasterConfig, logger: Logger): Promise<void> {
  const directories = ["jobs.lmdb", "minions.lmdb", "pending-jobs.lmdb"].map((name) => join(config.cachedir, name));
  const files = () => directories.flatMap(dataFilesIn);
  for (const file of files()) reading(`${file}-lock`, () => fillLockFile(file));
  setAsideMinionData(join(config.cachedir, "minions.lmdb", "data.mdb"), logger);
  removeDamagedFeed(saltFeedFile(config.cachedir), logger);
  refuseEmptyCache(join(config.cachedir, "jobs.lmdb"));
  const pending = join(config.cachedir, "pending-jobs.lmdb", "data.mdb");
  if (isEmptied(pending)) logger.error(`${pending} is empty: jobs that waited there for minions are gone`);
  for (const file of files()) reading(file, () => examineFile(file));
  await prepareJobCache(config, logger);
}

/** Turns system errors of a file that is not readable into STORE_FAILED. @throws SaltworksError STORE_FAILED */
function reading<Result>(path: string, step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    throw error instanceof SaltworksError ? error : storeFailed(`${path} cannot be read`, error);
  }
}

function dataFilesIn(directory: string): string[] {
  const names = reading(directory, () => (existsSync(directory) ? readdirSync(directory) : []));
  return names.filter((name) => name.endsWith(dataSuffix)).map((name) => join(directory, name));
}

/** A cache's layout is written after its files, so that an empty or missing file has lost acknowledged data. @throws SaltworksError STORE_DAMAGED */
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

function isEmptyFile(file: string): boolean {
  const stats = reading(file, () => statSync(file, { throwIfNoEntry: false }));
  return stats?.isFile() === true && stats.size === 0;
}

/** Whether the file has lost its content. */
function isEmptied(file: string): boolean {
  return isEmptyFile(file) && !reading(file, () => wasNeverWritten(file));
}

/** Grains, pillars, mines and sessions can all be asked for again, so the master starts in spite of damage there. */
function setAsideMinionData(file: string, logger: Logger): void {
  if (isEmptied(file)) logger.error(`${file} is empty: minions are asked again as they come`);
  try {
    reading(file, () => examineFile(file));
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

/**
 * The feed of Salt's own files is short, and can be made anew from all that is stored. So it is read whole, and removed if it is damaged or cannot be
 * read.
 */
function removeDamagedFeed(file: string, logger: Logger): void {
  const fault = faultOfFeed(file);
  if (fault === undefined) return;
  const directory = dirname(file);
  try {
    rmSync(directory, { recursive: true, force: true });
  } catch {
    // A folder that cannot be removed may still be moved. If not, the error says so.
    reading(directory, () => renameSync(directory, `${directory}.damaged-${Date.now()}`));
  }
  logger.warn({ fault }, `${file} is damaged or cannot be read: Salt's own files are written anew from what is stored`);
}

function faultOfFeed(file: string): string | undefined {
  try {
    return reading(file, () => {
      fillLockFile(file);
      const isThere = statSync(file, { throwIfNoEntry: false }) !== undefined;
      return isThere && examineFile(file) ? walkFile(file).faults[0] : undefined;
    });
  } catch (error) {
    if (!hasCode(error, "STORE_DAMAGED") && !hasCode(error, "STORE_FAILED")) throw error;
    return error instanceof Error ? error.message : String(error);
  }
}

async function prepareJobCache(config: MasterConfig, logger: Logger): Promise<void> {
  const path = join(config.cachedir, "jobs.lmdb");
  const { store_shards: shards, job_cache_store_endtime: storesEndTime } = config;
  const feed = new FeedAtStart(config, logger);
  let formerShards: number | undefined;
  try {
    const damaged = await absorbJobLogs(path, { storesEndTime, feed });
    for (const fault of damaged) logger.error(fault);
    formerShards = await reshardJobCache(path, shards, { storesEndTime, feed });
  } finally {
    await feed.close();
  }
  if (formerShards !== undefined)
    logger.info({ from: formerShards, to: shards }, "moved the job cache to another number of files");
  const indexedJobs = await indexJobCache(path);
  if (indexedJobs !== undefined) logger.info({ jobs: indexedJobs }, "built the job cache's index");
}

/**
 * The feed of Salt's own files, for returns from left logs. It is opened when there are some. A feed that cannot be used is removed, because a new one
 * starts from all that is stored.
 */
class FeedAtStart {
  readonly #file: string;
  readonly #logger: Logger;
  #feed: SaltFeed | undefined;
  #isWanted: boolean;
  #isLost = false;

  constructor(config: MasterConfig, logger: Logger) {
    this.#file = saltFeedFile(config.cachedir);
    this.#isWanted = config.salt_files !== "never" && existsSync(this.#file);
    this.#logger = logger;
  }

  addReturns(returnKeys: readonly Buffer[]): void {
    if (!this.#isWanted) return;
    try {
      this.#feed ??= new SaltFeed(this.#file);
      this.#feed.addReturns(returnKeys);
    } catch (error) {
      this.#isWanted = false;
      this.#isLost = true;
      this.#logger.warn(
        { err: error },
        `${this.#file} cannot be used: Salt's own files are written anew from what is stored`,
      );
    }
  }

  async close(): Promise<void> {
    await this.#feed?.close();
    if (this.#isLost) rmSync(dirname(this.#file), { recursive: true, force: true });
  }
}
