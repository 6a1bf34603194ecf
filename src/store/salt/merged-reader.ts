/** Reads our job cache and Salt's files as one. Salt's files have a Salt master's jobs, and returns of our jobs that a Salt master received. */
import { hasCode } from "../../errors.ts";
import { DamageNotes } from "../jobs/damage-notes.ts";
import { FilledPage } from "../jobs/filled-page.ts";
import {
  compareIds,
  type JobCacheReader,
  type ReturnPage,
  type ReturnsFound,
  type StoredReturn,
} from "../jobs/job-cache.ts";
import type { LocalCacheOptions } from "./job-files.ts";
import { openLocalCache } from "./local-cache.ts";
import { ReturnFolders } from "./return-folders.ts";

/** Bound of the unreadable files that are reported to `onFault`. */
const faultsToldMax = 100;

export type MergedReaderOptions = LocalCacheOptions & {
  /** Where our job cache is, for messages. */
  readonly place: string;
  /** Gets each unreadable file and damaged record once. Default: a warning of the process. */
  readonly onFault?: (error: Error) => void;
  /** Gets a text for each file or record that an answer leaves out because it is unreadable or damaged, every time. */
  readonly onLeftOut?: (text: string) => void;
};

function warn(error: Error): void {
  process.emitWarning(error);
}

/** `saltFiles`: searches only Salt's files. It reports their faults to the same listeners. */
export type MergedJobReader = JobCacheReader & { readonly saltFiles: JobCacheReader };

/** Searches the job cache and Salt's files. */
export function withLocalCache(jobs: JobCacheReader, o: MergedReaderOptions): MergedJobReader {
  const { onFault = warn, onLeftOut } = o;
  const told = new Faults(onFault, onLeftOut);
  const files = openLocalCache({ ...o, onDamaged: (error) => told.tell(error) });
  const saltReturns = new LocalCacheReturns(files, o, told);
  const damage = new DamageNotes(o.place, { onFault, onLeftOut });
  const isSaltJob = saltJobTest(jobs, damage);
  return {
    job: async (jid) => {
      try {
        return (await jobs.job(jid)) ?? (await files.job(jid));
      } catch (error) {
        // Salt's files may have the job as well, whether a Salt master or ours made it.
        const load = hasCode(error, "STORE_DAMAGED") ? await files.job(jid) : undefined;
        if (load === undefined) throw error;
        damage.noteLoad(jid);
        return load;
      }
    },
    request: async (jid) => (await jobs.request(jid)) ?? (await files.request(jid)),
    returns: async (jid, page) => {
      const isInFiles = await isSaltJob(jid);
      return await saltReturns.beside(await jobs.returns(jid, page), jid, page, isInFiles);
    },
    // Of two returns of a minion the first counts. For a Salt master's job that is the one in Salt's files.
    returnOf: async (jid, id) =>
      (await isSaltJob(jid))
        ? ((await saltReturns.one(jid, id)) ?? (await jobs.returnOf(jid, id)))
        : ((await jobs.returnOf(jid, id)) ?? (await saltReturns.one(jid, id))),
    endTime: async (jid) => (await jobs.endTime(jid)) ?? (await files.endTime(jid)),
    list: (options) => jobs.list(options),
    find: async (query) => {
      // Before the master's first start only Salt's files have jobs.
      const isNew = (await jobs.list({ newestFirst: true, limit: 1 })).length === 0;
      return await (isNew ? files : jobs).find(query);
    },
    saltFiles: {
      job: (jid) => files.job(jid),
      request: (jid) => files.request(jid),
      returns: (jid, page) => saltReturns.beside({ returns: [], hasMore: false }, jid, page, true),
      returnOf: (jid, id) => saltReturns.one(jid, id),
      endTime: (jid) => files.endTime(jid),
      list: (options) => files.list(options),
      find: (query) => files.find(query),
    },
  };
}

/**
 * Makes the test whether a job is a Salt master's. It remembers the last known job, because callers ask page by page. A job whose record is damaged
 * counts as a Salt master's, so that its returns in Salt's files are found.
 */
function saltJobTest(jobs: JobCacheReader, damage: DamageNotes): (jid: string) => Promise<boolean> {
  let last: { readonly jid: string; readonly isSaltJob: boolean } | undefined;
  return async (jid) => {
    if (last?.jid === jid) return last.isSaltJob;
    try {
      const load = await jobs.job(jid);
      // Not remembered, because the job may be stored later.
      if (load === undefined) return true;
      last = { jid, isSaltJob: load.isTakenOver === true };
      return load.isTakenOver === true;
    } catch (error) {
      if (!hasCode(error, "STORE_DAMAGED")) throw error;
      damage.noteLoad(jid);
      last = { jid, isSaltJob: true };
      return true;
    }
  };
}

/**
 * Reports faults of Salt's files: to the log once each, because commands that follow a job ask again and again; to the caller every time.
 */
class Faults {
  readonly #onFault: (error: Error) => void;
  readonly #onLeftOut: ((text: string) => void) | undefined;
  readonly #told = new Set<string>();

  constructor(onFault: (error: Error) => void, onLeftOut: ((text: string) => void) | undefined) {
    this.#onFault = onFault;
    this.#onLeftOut = onLeftOut;
  }

  tell(error: Error): void {
    this.#onLeftOut?.(`${error.message}: it is left out`);
    if (this.#told.has(error.message) || this.#told.size >= faultsToldMax) return;
    this.#told.add(error.message);
    this.#onFault(error);
  }
}

/** Reads returns in Salt's files: of a Salt master's jobs, and of our jobs whose minions answered while a Salt master ran. */
class LocalCacheReturns {
  readonly #files: JobCacheReader;
  readonly #folders: ReturnFolders;
  readonly #faults: Faults;

  constructor(files: JobCacheReader, o: LocalCacheOptions, faults: Faults) {
    this.#files = files;
    this.#folders = new ReturnFolders(o);
    this.#faults = faults;
  }

  /** Merges a page of our returns with those in the files. @param isSaltJob if both have a minion's return, the file's counts */
  async beside(own: ReturnsFound, jid: string, page: ReturnPage, isSaltJob: boolean): Promise<ReturnsFound> {
    const inFiles = (await this.#read(async () => this.#folders.onPage(jid, page))) ?? [];
    if (inFiles.length === 0) return own;
    const filled = new FilledPage(page);
    for (const { minionId, body: ours, isInFiles } of inOrder(own, inFiles)) {
      if (filled.isFull) return { returns: filled.returns, hasMore: true };
      const isRead = isInFiles && (isSaltJob || ours === undefined);
      const body = (isRead ? await this.#read(() => this.#files.returnOf(jid, minionId)) : undefined) ?? ours;
      if (body !== undefined) filled.add({ minionId, body });
    }
    return { returns: filled.returns, hasMore: own.hasMore };
  }

  async one(jid: string, minionId: string): Promise<Uint8Array | undefined> {
    return await this.#read(async () =>
      this.#folders.of(jid).ids.has(minionId) ? await this.#files.returnOf(jid, minionId) : undefined,
    );
  }

  /** Runs a step. If a file cannot be read, it is reported and left out. */
  async #read<Result>(step: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await step();
    } catch (error) {
      if (!hasCode(error, "STORE_FAILED")) throw error;
      this.#faults.tell(error as Error);
      return undefined;
    }
  }
}

type OnPage = Partial<StoredReturn> & { readonly minionId: string; readonly isInFiles: boolean };

/** Merges the minions of both, each once and in order. If `own.hasMore`, it ends with the last of `own`. */
function* inOrder(own: ReturnsFound, inFiles: readonly string[]): Generator<OnPage> {
  let [at, atFile] = [0, 0];
  for (;;) {
    const [ours, inFile] = [own.returns[at], inFiles[atFile]];
    if (ours === undefined && (inFile === undefined || own.hasMore)) return;
    const order = ours === undefined ? 1 : inFile === undefined ? -1 : compareIds(ours.minionId, inFile);
    if (order <= 0) at += 1;
    if (order >= 0) atFile += 1;
    if (ours !== undefined && order <= 0) yield { ...ours, isInFiles: order === 0 };
    else if (inFile !== undefined) yield { minionId: inFile, isInFiles: true };
  }
}
