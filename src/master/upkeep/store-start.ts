/**
 * Prepares the stores before any part opens them: converts what an earlier release, another setting or a crash left, and reports damage.
 * docs/decisions/0024-damaged-stores.md.
 */
import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { hasCode } from "../../errors.ts";
import { driverOf } from "../../store/drivers/registry.ts";
import { examineFile, wasNeverWritten } from "../../store/lmdb/env.ts";
import { examineFiles, fillLockFiles, isEmptyFile, reading } from "../../store/lmdb/examine.ts";
import { fillLockFile } from "../../store/lmdb/room.ts";
import { walkFile } from "../../store/lmdb/walk.ts";
import { MirrorQueue, mirrorQueueFile } from "../../store/salt/mirror-queue.ts";

/** @throws SaltworksError STORE_DAMAGED, STORE_FAILED if acknowledged data cannot be read: the master must not start without it */
export async function prepareStores(config: MasterConfig, logger: Logger): Promise<void> {
  const directories = ["minions.lmdb", "pending-jobs.lmdb"].map((name) => join(config.cachedir, name));
  for (const directory of directories) fillLockFiles(directory);
  setAsideMinionData(join(config.cachedir, "minions.lmdb", "data.mdb"), logger);
  removeDamagedQueue(mirrorQueueFile(config.cachedir), logger);
  const pending = join(config.cachedir, "pending-jobs.lmdb", "data.mdb");
  if (isEmptied(pending)) logger.error(`${pending} is empty: jobs that waited there for minions are gone`);
  for (const directory of directories) examineFiles(directory);
  await prepareJobCache(config, logger);
}

/** Whether the file has been truncated to nothing after it was written. */
function isEmptied(file: string): boolean {
  return isEmptyFile(file) && !reading(file, () => wasNeverWritten(file));
}

/**
 * Renames a damaged file of minion data. Grains, pillars, mines and sessions can all be asked for again, so the master starts in spite of the damage.
 */
function setAsideMinionData(file: string, logger: Logger): void {
  if (isEmptied(file)) logger.error(`${file} is empty: minions are asked again when they connect`);
  try {
    reading(file, () => examineFile(file));
  } catch (error) {
    if (!hasCode(error, "STORE_DAMAGED")) throw error;
    const aside = `${file}.damaged`;
    renameSync(file, aside);
    rmSync(`${file}-lock`, { force: true });
    logger.error(
      { err: error },
      `the stored data of minions is damaged: it was renamed to ${aside}, and minions are asked again when they connect`,
    );
  }
}

/** Removes a damaged or unreadable queue of Salt's own files. The queue is short, so it is read whole; a new one starts from all that is stored. */
function removeDamagedQueue(file: string, logger: Logger): void {
  const fault = faultOfFeed(file);
  if (fault === undefined) return;
  const directory = dirname(file);
  try {
    rmSync(directory, { recursive: true, force: true });
  } catch {
    // A folder that cannot be removed may still be renamed. If not, the error is thrown.
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
  const queue = new QueueAtStart(config, logger);
  const onStored = (returnKeys: readonly Buffer[]) => queue.addReturns(returnKeys);
  try {
    await driverOf(config).prepare(config, { onStored, logger });
  } finally {
    await queue.close();
  }
}

/**
 * The queue of Salt's own files, for returns that come from left-over logs. It is opened at the first of them. An unusable queue is removed, because a
 * new one starts from all that is stored.
 */
class QueueAtStart {
  readonly #file: string;
  readonly #logger: Logger;
  #queue: MirrorQueue | undefined;
  #isWanted: boolean;
  #isLost = false;

  constructor(config: MasterConfig, logger: Logger) {
    this.#file = mirrorQueueFile(config.cachedir);
    this.#isWanted = config.salt_files !== "never" && existsSync(this.#file);
    this.#logger = logger;
  }

  addReturns(returnKeys: readonly Buffer[]): void {
    if (!this.#isWanted) return;
    try {
      this.#queue ??= new MirrorQueue(this.#file);
      this.#queue.addReturns(returnKeys);
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
    await this.#queue?.close();
    if (this.#isLost) rmSync(dirname(this.#file), { recursive: true, force: true });
  }
}
