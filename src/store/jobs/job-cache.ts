/**
 * The job cache: who asked for what, who was expected, what came back. One interface, a file per driver;
 * test/contract/job-cache.ts is what every driver must do.
 */

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

export type ListOptions = {
  readonly newestFirst: boolean;
  readonly limit: number;
  /** Only job ids that sort before this one. */
  readonly before?: string;
};
export type TrimOptions = {
  /** Jobs whose id, read as a time, is before this one's go. */
  readonly olderThanJid: string;
  /** Records removed at most by this call. */
  readonly stepsMax: number;
};
/** 0: any number. */
export type KeptAmount = { readonly jobsMax: number; readonly bytesMax: number };

/** Every method that fails does so with SaltworksError STORE_FAILED, or STORE_DAMAGED for what is not as it was written. */
export interface JobCache {
  /**
   * All of the batch or nothing. Resolves when as durable as the cache was opened for; outcomes in the batch's order.
   * Of several caches on the same data, one puts a minion's returns at a time: which of two is first shows only when both are stored.
   */
  putReturns(batch: readonly ReturnRecord[]): Promise<PutOutcome[]>;
  /** Replaces what is there under the same job id. */
  putLoad(record: LoadToPut): Promise<void>;
  /** As `putLoad` for each, in as few transactions as can be. */
  putLoads(records: readonly LoadToPut[]): Promise<void>;
  /** Further expected minions of a job; of an unknown one, nothing. */
  addMinions(jid: string, minionIds: readonly string[]): Promise<void>;
  getLoad(jid: string): LoadRecord | undefined;
  /** The `load` of a job alone, which costs the same whatever the number of expected minions. */
  getRequest(jid: string): Uint8Array | undefined;
  /** Sorted by minion id. */
  getReturns(jid: string): StoredReturn[];
  getReturn(jid: string, minionId: string): Uint8Array | undefined;
  /** Those of the minions of whom there is a return. */
  whichReturned(jid: string, minionIds: readonly string[]): string[];
  /** Jobs that have a load. Ids that are not times come after all others when the newest are asked for first. */
  listJids(o: ListOptions): string[];
  /** Jobs that have a load and all that is asked for, newest first. */
  findJids(query: JobQuery): string[];
  /** When a job's last return came, in the form of Salt's StartTime. Known only if the cache was told to note it. */
  getEndTime(jid: string): string | undefined;
  /** Jobs whose returns are not to be kept. */
  noCacheJids(): string[];
  /** While there is more than may be kept: a job id before which the oldest few are. To be trimmed, then asked again. */
  cutFor(kept: KeptAmount): string | undefined;
  /** @returns how many records went; equal to `stepsMax`, there may be more */
  trim(o: TrimOptions): Promise<number>;
  close(): Promise<void>;
}
