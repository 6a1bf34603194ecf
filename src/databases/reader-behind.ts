/**
 * The job cache with a database behind it: the local store answers while it holds the job, and the database has older jobs and those whose returns
 * minions write themselves. A database that fails costs its part of the answer, which the caller is told.
 */
import { hasCode } from "../errors.ts";
import { compareNewestFirst, type JobQuery } from "../store/jobs/facts.ts";
import { FilledPage } from "../store/jobs/filled-page.ts";
import { compareIds, type JobCacheReader, type ReturnPage, type ReturnsFound } from "../store/jobs/job-cache.ts";

export type BehindOptions = {
  /** The minions write their returns into the database, so the local store has none (`ext_job_cache`). */
  readonly areReturnsBehind: boolean;
  /** Gets a text each time the database cannot be asked. */
  readonly onLeftOut: (text: string) => void;
};

type Reader = Omit<JobCacheReader, "list">;

export function withDatabaseBehind(jobs: Reader, database: Reader, o: BehindOptions): Reader {
  const ask = async <Answer>(otherwise: Answer, question: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await question();
    } catch (error) {
      if (!hasCode(error, "DATABASE_FAILED") && !hasCode(error, "DATABASE_REFUSED")) throw error;
      o.onLeftOut(`what only the database has is left out: ${(error as Error).message}`);
      return otherwise;
    }
  };
  const isLocal = async (jid: string) => !o.areReturnsBehind && (await jobs.request(jid)) !== undefined;
  const noReturns: ReturnsFound = { returns: [], hasMore: false };
  return {
    job: async (jid) => (await jobs.job(jid)) ?? (await ask(undefined, () => database.job(jid))),
    request: async (jid) => (await jobs.request(jid)) ?? (await ask(undefined, () => database.request(jid))),
    returns: async (jid, page) => {
      if (await isLocal(jid)) return await jobs.returns(jid, page);
      // A return that came after its job was removed from the local store may be in both.
      return merged(page, await jobs.returns(jid, page), await ask(noReturns, () => database.returns(jid, page)));
    },
    returnOf: async (jid, id) => {
      const local = await jobs.returnOf(jid, id);
      if (local !== undefined || (await isLocal(jid))) return local;
      return await ask(undefined, () => database.returnOf(jid, id));
    },
    endTime: (jid) => jobs.endTime(jid),
    // The local store has the newest jobs, so a full page is its own.
    find: async (query) => {
      const local = await jobs.find(query);
      if (local.length >= query.limit) return local;
      const found = await ask([], () => database.find(bounded(query)));
      return [...new Set([...local, ...found])].sort(compareNewestFirst).slice(0, query.limit);
    },
  };
}

/** Most jobs that one answer takes from the database, so that a search without a limit does not fill the memory. */
const foundMax = 10_000;

function bounded(query: JobQuery): JobQuery {
  return { ...query, limit: Math.min(query.limit, foundMax) };
}

/** One page of both. Of two returns of a minion the local one counts. It ends where a page with more to come ends. */
function merged(page: ReturnPage, local: ReturnsFound, other: ReturnsFound): ReturnsFound {
  if (other.returns.length === 0 && !other.hasMore) return local;
  const known = new Set(local.returns.map(({ minionId }) => minionId));
  const ends = [local, other].flatMap(({ returns, hasMore }) => (hasMore ? (returns.at(-1)?.minionId ?? []) : []));
  const all = [...local.returns, ...other.returns.filter(({ minionId }) => !known.has(minionId))].sort((a, b) =>
    compareIds(a.minionId, b.minionId),
  );
  const within = all.filter(({ minionId }) => ends.every((end) => compareIds(minionId, end) <= 0));
  const filled = new FilledPage(page);
  for (const one of within) {
    if (filled.isFull) return { returns: filled.returns, hasMore: true };
    filled.add(one);
  }
  return { returns: filled.returns, hasMore: ends.length > 0 };
}
