/** A driver of the job cache: all that the rest of the master knows of it. Each driver has a folder beside this one and a line in registry.ts. */
import type { MasterConfig } from "../../../config/schema.ts";
import type { Look, Tally } from "../../check/tally.ts";
import type { JobCache } from "../../jobs/job-cache.ts";
import type { JobFeed } from "../../jobs/job-feed.ts";
import type { JobImport, JobWalk } from "../../jobs/job-import.ts";
import type { KeyedReturns } from "../../jobs/keyed-returns.ts";

/** The master's options. Readers may open a cache with only the options that every caller has. */
export type JobCacheConfig = Pick<MasterConfig, "cachedir" | "hash_type"> & Partial<MasterConfig>;

export type OpenOptions = {
  /** Opens for reading only. A job cache that does not exist yet reads as empty. */
  readonly isReadOnly?: boolean;
  /** Gets each failure of background work, which is tried again, and each damaged record once. Default: a warning of the process. */
  readonly onFault?: ((error: Error) => void) | undefined;
  /** Gets a text for each damaged record that an answer leaves out, every time. */
  readonly onLeftOut?: ((text: string) => void) | undefined;
  /** Gets the keys of stored returns as soon as readers can find them. */
  readonly onStored?: ((returnKeys: readonly Buffer[]) => void) | undefined;
  /** Bound of the wait until `onStored` gets the keys of returns, milliseconds. Default: the driver's own. */
  readonly storeDelayMs?: number | undefined;
};

export type PrepareOptions = {
  /** Gets the keys of returns that a killed master had not stored yet, before they are stored. */
  readonly onStored: (returnKeys: readonly Buffer[]) => void;
  readonly logger: {
    readonly error: (text: string) => void;
    readonly info: (facts: object, text: string) => void;
  };
};

/** One part of `saltworks check-store`. `check` notes damage in `tally`; it throws errors of reading that are not damage. */
export type DriverCheck = {
  readonly what: string;
  readonly place: string;
  readonly check: (tally: Tally, look: Look) => Promise<void>;
};

export interface JobCacheDriver {
  /** The driver's names in the cache directory. Operators' cache banks may not have them. */
  readonly cacheNames: readonly string[];
  /** Where the jobs are, for messages: a path, or an address without a password. */
  place(config: JobCacheConfig): string;
  /** @throws SaltworksError STORE_FAILED, STORE_DAMAGED */
  open(config: JobCacheConfig, o: OpenOptions): JobCache;
  /**
   * Runs once as the master starts, before any part opens the cache: converts what an earlier release, another setting or a crash left.
   *
   * @throws SaltworksError STORE_DAMAGED, STORE_FAILED if acknowledged returns cannot be read: the master must not start without them
   */
  prepare(config: JobCacheConfig, o: PrepareOptions): Promise<void>;
  checks(config: JobCacheConfig): readonly DriverCheck[];
  /** Opens the feed for the one thread that copies it into a database. A cache opened with `config` fills it, as `feedKindOf` says. */
  openFeed(config: JobCacheConfig): JobFeed;
  /** Opens the returns whose keys `onStored` got. `onFault` gets each damaged return once. */
  openKeyedReturns(config: JobCacheConfig, onFault: (error: Error) => void): KeyedReturns;
  /** Opens the cache for the one thread that brings jobs of another cache into it. */
  openImport(config: JobCacheConfig): JobImport;
  openWalk(config: JobCacheConfig): JobWalk;
}
