/**
 * The job cache: who asked for what, which minions were expected, what they returned. Workers write it (`JobCache`), operators' questions read it
 * (`JobSearch`). A driver does both, and test/contract/job-cache.ts is what every driver must do.
 */

import { returnsPerPage } from "../../limits.ts";
import type { Packed } from "../../wire/values.ts";
import type { JobQuery } from "./facts.ts";

/** `body`: the whole return load as in its event, a map in the new msgpack flavour. Its memory may be used again once the write has settled: a driver copies what it keeps for longer. */
export type ReturnRecord = { readonly jid: string; readonly minionId: string; readonly body: Uint8Array };
/**
 * `load`: the clear publish load without `key`, a map in the new flavour. `minions`: who is expected; `missing`: named but unknown.
 * `isNoCache`: the job's returns are not to be kept.
 */
export type LoadRecord = {
  readonly jid: string;
  readonly load: Uint8Array;
  readonly minions: string[];
  readonly missing?: string[] | undefined;
  readonly isNoCache?: boolean | undefined;
  /** A Salt master made it: returns that it got stand in its own layout. */
  readonly isTakenOver?: boolean | undefined;
};
/** As it is put: the list of a large job is packed already, valid in the new flavour. */
export type LoadToPut = Omit<LoadRecord, "minions"> & { readonly minions: readonly string[] | Packed };
export type StoredReturn = { readonly minionId: string; readonly body: Uint8Array };
/** "duplicate": there is a return of this minion for this job already; the first one stays. */
export type PutOutcome = "stored" | "duplicate";
/**
 * When a put counts as done. "fsync": on disk. "commit" and "async": handed to the kernel, which a master that dies doesn't take with it,
 * but a machine that does; a driver that needs longer for "commit" resolves "async" at once.
 */
export type Durability = "fsync" | "commit" | "async";

/** Returns of minions whose ids come after `after`, at most `limit`. */
export type ReturnPage = { readonly after?: string | undefined; readonly limit: number };
export type ListOptions = {
  readonly newestFirst: boolean;
  readonly limit: number;
  /** Only job ids that sort before this one. */
  readonly before?: string;
};
/** 0: any number. */
export type KeptAmount = { readonly jobsMax: number; readonly bytesMax: number };
export type TrimOptions = {
  /** Removes jobs whose id, read as a time, is before this one. */
  readonly olderThanJid: string;
  /** Removes the oldest jobs, too, while there is more than this. */
  readonly keep?: KeptAmount;
  /** The call removes at most this many records. */
  readonly stepsMax: number;
};
/** `olderThanJid`: jobs before this one went, or go with the next call if `hasMore`. */
export type Trimmed = { readonly removed: number; readonly hasMore: boolean; readonly olderThanJid: string };

/** What workers need. Every method fails with SaltworksError STORE_FAILED, or STORE_DAMAGED for what is not as it was written. */
export interface JobCache {
  /** Replaces what is there under the same job ids. In as few transactions as possible. */
  keepJobs(jobs: readonly LoadToPut[]): Promise<void>;
  /** Keeps a job that a minion started by itself, unless there is one under its id. */
  keepNewJob(job: LoadToPut): Promise<void>;
  /**
   * All of the batch or nothing. Resolves when as durable as the cache was opened for; outcomes in the batch's order.
   * If several caches have the same data open, one of them puts a minion's returns at a time: two that come at once are told apart only when both are stored.
   */
  keepReturns(batch: readonly ReturnRecord[]): Promise<PutOutcome[]>;
  /** The ids among `minionIds` that have returned. */
  whichReturned(jid: string, minionIds: readonly string[]): Promise<string[]>;
  /** Jobs whose returns are not to be kept. */
  unkeptJobs(): Promise<string[]>;
  trim(o: TrimOptions): Promise<Trimmed>;
  close(): Promise<void>;
}

/** What operators' questions need. Every method fails as in `JobCache`. */
export interface JobSearch {
  job(jid: string): LoadRecord | undefined;
  /** The `load` of a job alone, which costs the same whatever the number of expected minions. */
  request(jid: string): Uint8Array | undefined;
  /** One page of a job's returns, by minion id in the order of `compareIds`. Shorter than the limit only at the end. */
  returns(jid: string, page: ReturnPage): StoredReturn[];
  returnOf(jid: string, minionId: string): Uint8Array | undefined;
  /** When a job's last return came, in the form of Salt's StartTime. Known only if the cache was told to note it. */
  endTime(jid: string): string | undefined;
  /** Ids of jobs that have a load. Ids that are not times come after all others if the newest are asked for first. */
  list(o: ListOptions): string[];
  /** Ids of jobs that match the whole query, newest first. */
  find(query: JobQuery): string[];
}

/** What a driver opens. */
export type JobStore = JobCache & JobSearch;

const surrogate = /[\ud800-\udfff]/;

/** Orders minion ids by their UTF-8 bytes, as LMDB and Python do. JavaScript compares UTF-16 units, which differ beyond U+FFFF. */
export function compareIds(a: string, b: string): number {
  if (surrogate.test(a) || surrogate.test(b)) return Buffer.compare(Buffer.from(a, "utf8"), Buffer.from(b, "utf8"));
  return a < b ? -1 : a > b ? 1 : 0;
}

/** All returns of a job, page by page. */
export function* allReturns(jobs: Pick<JobSearch, "returns">, jid: string): Generator<StoredReturn, void> {
  for (let after: string | undefined; ; ) {
    const page = jobs.returns(jid, { after, limit: returnsPerPage });
    yield* page;
    if (page.length < returnsPerPage) return;
    after = page.at(-1)?.minionId;
  }
}
