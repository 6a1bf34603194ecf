/** Reads our job cache and Salt's files as one: jobs that a Salt master made, and returns that it got for jobs of ours. */
import { join } from "node:path";
import { hasCode } from "../../errors.ts";
import { DamageNotes } from "../drivers/lmdb/damage-notes.ts";
import type { JobCache, StoredReturn } from "../jobs/job-cache.ts";
import { type LocalCacheOptions, openLocalCache } from "./local-cache.ts";
import { ReturnFolders } from "./return-folders.ts";

/** Files that cannot be read are told of one by one, up to this number. */
const faultsToldMax = 100;

/** What of a job cache reads. */
type Reader = Pick<
  JobCache,
  "getLoad" | "getRequest" | "getReturns" | "getReturn" | "getEndTime" | "listJids" | "findJids"
>;

export type JobReaderOptions = LocalCacheOptions & {
  /** What is left out because it cannot be read or is damaged, once each. Without it: a warning of the process. */
  readonly onFault?: (error: Error) => void;
  /** Told in words, each time, what an answer lacks, or that the record of a job is damaged. */
  readonly onLeftOut?: (text: string) => void;
};

/** The job cache, whose readers look into Salt's files as well. */
export function withOldJobs<Cache extends Reader>(jobs: Cache, o: JobReaderOptions): Cache {
  const reader = readerOf(jobs, o);
  return new Proxy(jobs, {
    get: (target, name) => {
      if (name in reader) return reader[name as keyof Reader];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function warn(error: Error): void {
  process.emitWarning(error);
}

function readerOf(jobs: Reader, o: JobReaderOptions): Reader {
  const { onFault = warn, onLeftOut } = o;
  const told = new Faults(onFault, onLeftOut);
  const files = openLocalCache({ ...o, onDamaged: (error) => told.tell(error) });
  const elsewhere = new ReturnsElsewhere(files, o, told);
  const damage = new DamageNotes(join(o.cachedir, "jobs.lmdb"), { onFault, onLeftOut });
  const isOld = oldJobs(jobs, damage);
  return {
    getLoad: (jid) => {
      try {
        return jobs.getLoad(jid) ?? files.getLoad(jid);
      } catch (error) {
        // Salt's files have it as well, of whichever master the job is.
        const load = hasCode(error, "STORE_DAMAGED") ? files.getLoad(jid) : undefined;
        if (load === undefined) throw error;
        damage.noteLoad(jid);
        return load;
      }
    },
    getRequest: (jid) => jobs.getRequest(jid) ?? files.getRequest(jid),
    getReturns: (jid) => {
      const own = jobs.getReturns(jid);
      return merged(own, elsewhere.all(jid, isOld(jid) ? [] : own));
    },
    // The first return stays, and of a Salt master's job that is Salt's.
    getReturn: (jid, id) =>
      isOld(jid)
        ? (elsewhere.one(jid, id) ?? jobs.getReturn(jid, id))
        : (jobs.getReturn(jid, id) ?? elsewhere.one(jid, id)),
    getEndTime: (jid) => jobs.getEndTime(jid) ?? files.getEndTime(jid),
    listJids: (options) => jobs.listJids(options),
    findJids: (query) => {
      // Before the first start there is nothing but Salt's files.
      const isNew = jobs.listJids({ newestFirst: true, limit: 1 }).length === 0;
      return isNew ? files.findJids(query) : jobs.findJids(query);
    },
  };
}

/** Tells jobs that are not ours; remembers the last, because a caller asks for each minion. A damaged record hides no returns. */
function oldJobs(jobs: Reader, damage: DamageNotes): (jid: string) => boolean {
  let last: { readonly jid: string; readonly isOld: boolean } | undefined;
  const look = (jid: string) => {
    try {
      const load = jobs.getLoad(jid);
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
  readonly #files: Reader;
  readonly #folders: ReturnFolders;
  readonly #faults: Faults;

  constructor(files: Reader, o: LocalCacheOptions, faults: Faults) {
    this.#files = files;
    this.#folders = new ReturnFolders(o);
    this.#faults = faults;
  }

  /** Of minions that `own` does not have. */
  all(jid: string, own: readonly StoredReturn[]): StoredReturn[] {
    const folders = this.#read(() => this.#folders.of(jid));
    if (folders === undefined || folders.size === 0) return [];
    const known = new Set(own.map(({ minionId }) => minionId));
    return [...folders].flatMap((minionId) => {
      const body = known.has(minionId) ? undefined : this.#read(() => this.#files.getReturn(jid, minionId));
      return body === undefined ? [] : [{ minionId, body }];
    });
  }

  one(jid: string, minionId: string): Uint8Array | undefined {
    return this.#read(() => (this.#folders.of(jid).has(minionId) ? this.#files.getReturn(jid, minionId) : undefined));
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
  return [...byId.values()].sort((a, b) => (a.minionId < b.minionId ? -1 : 1));
}
