/**
 * The job cache: each job's request, its expected minions and their returns. Workers write it (`JobCacheWriter`); operators' queries read it
 * (`JobCacheReader`). A driver implements both (`JobCache`). test/contract/job-cache.ts tests what every driver must do.
 */

import { returnPageBytesMax, returnsPerPage } from "../../limits.ts";
import type { Packed } from "../../wire/values.ts";
import type { JobQuery } from "./facts.ts";

/**
 * `body`: the whole return load as in its event, a map in the new msgpack flavour. The caller reuses its memory once the write has settled, so a
 * driver copies the bytes that it keeps for longer.
 */
export type ReturnRecord = { readonly jid: string; readonly minionId: string; readonly body: Uint8Array };
/**
 * `load`: the clear publish load without `key`, a map in the new flavour. `minions`: the expected minions. `missing`: ids that the target names
 * but the master does not know. `isNoCache`: the job's returns are not stored.
 */
export type LoadRecord = {
  readonly jid: string;
  readonly load: Uint8Array;
  readonly minions: string[];
  readonly missing?: string[] | undefined;
  readonly isNoCache?: boolean | undefined;
  /** A Salt master made this job. The returns that it received are in its own files. */
  readonly isTakenOver?: boolean | undefined;
};
/** A load record as callers put it: the ids of a large job may be a packed list, which is valid in the new flavour. */
export type LoadToPut = Omit<LoadRecord, "minions"> & { readonly minions: readonly string[] | Packed };
export type StoredReturn = { readonly minionId: string; readonly body: Uint8Array };
/** "duplicate": the store already has this minion's return for this job, and keeps the first. */
export type PutOutcome = "stored" | "duplicate";
/**
 * When a put resolves. "fsync": the data is on disk. "commit" and "async": the kernel has the data, so it survives a crash of the master, not of
 * the machine. A driver whose commits take longer resolves "async" at once.
 */
export type Durability = "fsync" | "commit" | "async";

/**
 * Asks for returns of minions whose ids come after `after`: at most `limit`, and none after the one that reaches
 * `bytesMax`. `of`: only these minions' returns.
 */
export type ReturnPage = {
  readonly after?: string | undefined;
  readonly limit: number;
  readonly bytesMax: number;
  readonly of?: readonly string[] | undefined;
};
/** Sorted by minion id as `compareIds` does. `hasMore`: further returns may follow; then `returns` is not empty. */
export type ReturnsFound = { readonly returns: readonly StoredReturn[]; readonly hasMore: boolean };
export type ListOptions = {
  readonly newestFirst: boolean;
  readonly limit: number;
  /** Lists only job ids that sort before this one. */
  readonly before?: string;
};
/** 0: unbounded. */
export type KeptAmount = { readonly jobsMax: number; readonly bytesMax: number };
export type TrimOptions = {
  /** Removes jobs whose id, read as a time, is before this id. */
  readonly olderThanJid: string;
  /** Also removes the oldest jobs while the cache holds more than this. */
  readonly keep?: KeptAmount;
  /** The call removes at most this many records. */
  readonly stepsMax: number;
};
/** `olderThanJid`: jobs before this one are removed, or if `hasMore`, will be by further calls. */
export type Trimmed = { readonly removed: number; readonly hasMore: boolean; readonly olderThanJid: string };

/** The writing half, for workers. Each fails with SaltworksError STORE_FAILED, or with STORE_DAMAGED if a record is not as it was written. */
export interface JobCacheWriter {
  /** Stores jobs in as few transactions as possible. Replaces records of the same job ids. */
  keepJobs(jobs: readonly LoadToPut[]): Promise<void>;
  /** Stores a job that a minion started by itself if its id is new. Only then `make` is called, before the promise settles. */
  keepNewJob(jid: string, make: () => LoadToPut): Promise<void>;
  /**
   * Adds the minions of a lower master to a stored job, without the ones that it has, up to `jobMinionsBelowMax` of the job. Does nothing if the job is
   * unknown. `syndic`: the lower master's id, under which Salt's files keep the list.
   */
  addMinions(jid: string, syndic: string, minions: readonly string[]): Promise<void>;
  /**
   * Stores the whole batch or nothing. Resolves once the batch is as durable as the cache was opened for, with the outcomes in the batch's order.
   * If several caches have the same data open, only one of them may put a given minion's returns at a time: two caches that put the same return
   * at once may both answer "stored".
   */
  keepReturns(batch: readonly ReturnRecord[]): Promise<PutOutcome[]>;
  /** The ids among `minionIds` that have returned. */
  whichReturned(jid: string, minionIds: readonly string[]): Promise<string[]>;
  /** Ids of jobs whose returns are not stored. */
  unkeptJobs(): Promise<string[]>;
  trim(o: TrimOptions): Promise<Trimmed>;
  close(): Promise<void>;
}

/**
 * The reading half, for operators' queries. Each fails as in `JobCacheWriter`. Two calls are two transactions: the data may change between them.
 */
export interface JobCacheReader {
  job(jid: string): Promise<LoadRecord | undefined>;
  /** The `load` of a job alone. Its cost does not grow with the number of expected minions. */
  request(jid: string): Promise<Uint8Array | undefined>;
  /** One page of a job's returns. */
  returns(jid: string, page: ReturnPage): Promise<ReturnsFound>;
  returnOf(jid: string, minionId: string): Promise<Uint8Array | undefined>;
  /** When a job's last return came, in the form of Salt's StartTime. Only `job_cache_store_endtime` makes sure that it is known. */
  endTime(jid: string): Promise<string | undefined>;
  /** Ids of jobs that have a load. With `newestFirst`, ids that are not times come last. */
  list(o: ListOptions): Promise<string[]>;
  /** Ids of jobs that match the whole query, newest first. */
  find(query: JobQuery): Promise<string[]>;
}

/** The whole job cache, as a driver opens it. */
export type JobCache = JobCacheWriter & JobCacheReader;

const surrogate = /[\ud800-\udfff]/;

/** Orders minion ids by their UTF-8 bytes, as LMDB and Python do. JavaScript compares UTF-16 units, which differ beyond U+FFFF. */
export function compareIds(a: string, b: string): number {
  if (surrogate.test(a) || surrogate.test(b)) return Buffer.compare(Buffer.from(a, "utf8"), Buffer.from(b, "utf8"));
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Yields all returns of a job, or those of the minions `of`. Holds one page of them in memory at a time. */
export async function* allReturns(
  jobs: Pick<JobCacheReader, "returns">,
  jid: string,
  of?: readonly string[],
): AsyncGenerator<StoredReturn, void> {
  for (let after: string | undefined; ; ) {
    const page = { after, limit: returnsPerPage, bytesMax: returnPageBytesMax, of };
    const { returns, hasMore } = await jobs.returns(jid, page);
    yield* returns;
    if (!hasMore) return;
    after = returns.at(-1)?.minionId;
  }
}
