/** Reads our job cache and Salt's files as one: jobs that a Salt master made, and returns that it got for jobs of ours. */
import { join } from "node:path";
import { hasCode } from "../../errors.ts";
import { DamageNotes } from "../drivers/lmdb/damage-notes.ts";
import { compareIds, type JobSearch, type ReturnPage, type StoredReturn } from "../jobs/job-cache.ts";
import { type LocalCacheOptions, openLocalCache } from "./local-cache.ts";
import { ReturnFolders } from "./return-folders.ts";

/** Files that cannot be read are told of one by one, up to this number. */
const faultsToldMax = 100;

export type JobReaderOptions = LocalCacheOptions & {
  /** What is left out because it cannot be read or is damaged, once each. Without it: a warning of the process. */
  readonly onFault?: (error: Error) => void;
  /** Told in words, each time, what an answer lacks, or that the record of a job is damaged. */
  readonly onLeftOut?: (text: string) => void;
};

function warn(error: Error): void {
  process.emitWarning(error);
}

/** What the job cache has, and what stands in Salt's files beside it. */
export function withOldJobs(jobs: JobSearch, o: JobReaderOptions): JobSearch {
  const { onFault = warn, onLeftOut } = o;
  const told = new Faults(onFault, onLeftOut);
  const files = openLocalCache({ ...o, onDamaged: (error) => told.tell(error) });
  const elsewhere = new ReturnsElsewhere(files, o, told);
  const damage = new DamageNotes(join(o.cachedir, "jobs.lmdb"), { onFault, onLeftOut });
  const isOld = oldJobs(jobs, damage);
  return {
    job: (jid) => {
      try {
        return jobs.job(jid) ?? files.job(jid);
      } catch (error) {
        // Salt's files have it as well, whichever master made the job.
        const load = hasCode(error, "STORE_DAMAGED") ? files.job(jid) : undefined;
        if (load === undefined) throw error;
        damage.noteLoad(jid);
        return load;
      }
    },
    request: (jid) => jobs.request(jid) ?? files.request(jid),
    returns: (jid, page) => {
      const own = jobs.returns(jid, page);
      return merged(own, elsewhere.page(jid, page, own, isOld(jid))).slice(0, page.limit);
    },
    // The first return stays. Of a Salt master's job that is the one in Salt's files.
    returnOf: (jid, id) =>
      isOld(jid)
        ? (elsewhere.one(jid, id) ?? jobs.returnOf(jid, id))
        : (jobs.returnOf(jid, id) ?? elsewhere.one(jid, id)),
    endTime: (jid) => jobs.endTime(jid) ?? files.endTime(jid),
    list: (options) => jobs.list(options),
    find: (query) => {
      // Before the first start there is nothing but Salt's files.
      const isNew = jobs.list({ newestFirst: true, limit: 1 }).length === 0;
      return isNew ? files.find(query) : jobs.find(query);
    },
  };
}

/** Tells jobs that are not ours; remembers the last, because a caller asks for each minion. A damaged record hides no returns. */
function oldJobs(jobs: JobSearch, damage: DamageNotes): (jid: string) => boolean {
  let last: { readonly jid: string; readonly isOld: boolean } | undefined;
  const look = (jid: string) => {
    try {
      const load = jobs.job(jid);
      return load === undefined || load.isTakenOver === true;
    } catch (error) {
      if (!hasCode(error, "STORE_DAMAGED")) throw error;
      damage.noteLoad(jid);
      return true;
    }
  };
  return (jid) => {
    if (last?.jid !== jid) last = { jid, isOld: look(jid) };
    return last.isOld;
  };
}

/** What is wrong with Salt's files: to the log once each, since commands that follow a job ask again and again; each time to what waits for the answer. */
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

/** Returns in Salt's files: those of a Salt master's job, and those of our jobs that it got because it ran when the minion answered. */
class ReturnsElsewhere {
  readonly #files: JobSearch;
  readonly #folders: ReturnFolders;
  readonly #faults: Faults;

  constructor(files: JobSearch, o: LocalCacheOptions, faults: Faults) {
    this.#files = files;
    this.#folders = new ReturnFolders(o);
    this.#faults = faults;
  }

  /** Returns that go into a page beside `own`: behind the last of a full one there is room for none. @param isOld whether they replace those in `own` */
  page(jid: string, { after, limit }: ReturnPage, own: readonly StoredReturn[], isOld: boolean): StoredReturn[] {
    const folders = this.#read(() => this.#folders.of(jid));
    if (folders === undefined || folders.size === 0) return [];
    const known = new Set(isOld ? [] : own.map(({ minionId }) => minionId));
    const last = own.length < limit ? undefined : own.at(-1)?.minionId;
    const found: StoredReturn[] = [];
    for (const minionId of folders) {
      if (found.length === limit || (last !== undefined && compareIds(minionId, last) > 0)) break;
      if ((after !== undefined && compareIds(minionId, after) <= 0) || known.has(minionId)) continue;
      const body = this.#read(() => this.#files.returnOf(jid, minionId));
      if (body !== undefined) found.push({ minionId, body });
    }
    return found;
  }

  one(jid: string, minionId: string): Uint8Array | undefined {
    return this.#read(() => (this.#folders.of(jid).has(minionId) ? this.#files.returnOf(jid, minionId) : undefined));
  }

  /** A file that cannot be read hides no other return. */
  #read<Result>(step: () => Result): Result | undefined {
    try {
      return step();
    } catch (error) {
      if (!hasCode(error, "STORE_FAILED")) throw error;
      this.#faults.tell(error as Error);
      return undefined;
    }
  }
}

/** The latter count where both have one. */
function merged(some: readonly StoredReturn[], others: readonly StoredReturn[]): StoredReturn[] {
  if (others.length === 0) return [...some];
  const byId = new Map([...some, ...others].map((stored) => [stored.minionId, stored]));
  return [...byId.values()].sort((a, b) => compareIds(a.minionId, b.minionId));
}
