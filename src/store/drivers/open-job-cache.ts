/** The job cache as workers and readers see it: one object, which has the driver of `master_job_cache` and Salt's own files behind it. */
import { saltReturnDelayMs } from "../../limits.ts";
import type { JobCache, JobSearch, JobStore, Trimmed, TrimOptions } from "../jobs/job-cache.ts";
import type { SaltFeed } from "../salt/feed.ts";
import { withOldJobs } from "../salt/job-reader.ts";
import { openLocalCache } from "../salt/local-cache.ts";
import { type DriverOptions, type JobCacheConfig, openDriver } from "./table.ts";

/** `feed`: what is to be written into Salt's files, if they are kept current. `close` closes it as well. */
export type JobCacheOptions = Pick<DriverOptions, "onFault"> & { readonly feed: SaltFeed | undefined };

/** For a worker. @throws SaltworksError STORE_FAILED, STORE_DAMAGED */
export function openJobCache(config: JobCacheConfig, { feed, onFault }: JobCacheOptions): JobCache {
  const feeding =
    feed === undefined
      ? {}
      : { onStored: (keys: readonly Buffer[]) => feed.addReturns(keys), storeDelayMs: saltReturnDelayMs };
  const files = openLocalCache({ cachedir: config.cachedir, hashType: config.hash_type });
  return new JobCacheWithFiles(openDriver(config, { onFault, ...feeding }), {
    files,
    areLoadsWritten: feed !== undefined || config.local_cache_loads === true,
    feed,
  });
}

/** `areLoadsWritten`: published jobs go into Salt's files at once, because Python's command line reads them there. */
type Beside = {
  readonly files: Pick<JobCache, "keepJobs" | "trim">;
  readonly areLoadsWritten: boolean;
  readonly feed: Pick<SaltFeed, "close"> | undefined;
};

class JobCacheWithFiles implements JobCache {
  readonly #store: JobStore;
  readonly #beside: Beside;

  constructor(store: JobStore, beside: Beside) {
    this.#store = store;
    this.#beside = beside;
  }

  async keepJobs(jobs: Parameters<JobCache["keepJobs"]>[0]): Promise<void> {
    const { files, areLoadsWritten } = this.#beside;
    await Promise.all([this.#store.keepJobs(jobs), areLoadsWritten ? files.keepJobs(jobs) : undefined]);
  }

  keepNewJob(job: Parameters<JobCache["keepNewJob"]>[0]): Promise<void> {
    return this.#store.keepNewJob(job);
  }

  keepReturns(batch: Parameters<JobCache["keepReturns"]>[0]): ReturnType<JobCache["keepReturns"]> {
    return this.#store.keepReturns(batch);
  }

  whichReturned(jid: string, minionIds: readonly string[]): Promise<string[]> {
    return this.#store.whichReturned(jid, minionIds);
  }

  unkeptJobs(): Promise<string[]> {
    return this.#store.unkeptJobs();
  }

  /** Jobs leave the store and Salt's files, whichever master wrote them there. */
  async trim(o: TrimOptions): Promise<Trimmed> {
    const { removed, hasMore, olderThanJid } = await this.#store.trim(o);
    const files = await this.#beside.files.trim({ olderThanJid, stepsMax: o.stepsMax });
    return { removed: Math.max(removed, files.removed), hasMore: hasMore || files.hasMore, olderThanJid };
  }

  async close(): Promise<void> {
    await this.#store.close();
    await this.#beside.feed?.close();
  }
}

export type JobReader = JobSearch & Pick<JobCache, "close">;

/** For operators' questions. It finds jobs that a Salt master left, too. @throws SaltworksError STORE_FAILED, STORE_DAMAGED */
export function openJobReader(config: JobCacheConfig, o: Omit<DriverOptions, "onStored" | "storeDelayMs">): JobReader {
  const { cachedir, hash_type: hashType } = config;
  const store = openDriver(config, o);
  const told = {
    ...(o.onFault === undefined ? {} : { onFault: o.onFault }),
    ...(o.onLeftOut === undefined ? {} : { onLeftOut: o.onLeftOut }),
  };
  return { ...withOldJobs(store, { cachedir, hashType, ...told }), close: () => store.close() };
}
