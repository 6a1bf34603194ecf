/** The job cache as workers and readers see it: one object in front of the driver that `master_job_cache` names and Salt's own files. */
import { saltReturnDelayMs } from "../../limits.ts";
import type { JobCache, JobCacheWriter, Trimmed, TrimOptions } from "../jobs/job-cache.ts";
import { openLocalCache } from "../salt/local-cache.ts";
import { type MergedJobReader, withLocalCache } from "../salt/merged-reader.ts";
import type { MirrorQueue } from "../salt/mirror-queue.ts";
import type { JobCacheConfig, OpenOptions } from "./contract/driver.ts";
import { driverOf } from "./registry.ts";

/** `queue`: the list of changes for Salt's files; undefined if they are not kept current. The cache's `close` also closes it. */
export type JobCacheWriterOptions = Pick<OpenOptions, "onFault"> & { readonly queue: MirrorQueue | undefined };

/** Opens the job cache of a worker. @throws SaltworksError STORE_FAILED, STORE_DAMAGED */
export function openJobCacheWriter(config: JobCacheConfig, { queue, onFault }: JobCacheWriterOptions): JobCacheWriter {
  const queueing =
    queue === undefined
      ? {}
      : { onStored: (keys: readonly Buffer[]) => queue.addReturns(keys), storeDelayMs: saltReturnDelayMs };
  const files = openLocalCache({ cachedir: config.cachedir, hashType: config.hash_type });
  return new WriterBesideSaltFiles(driverOf(config).open(config, { onFault, ...queueing }), {
    files,
    areLoadsWritten: queue !== undefined || config.local_cache_loads === true,
    queue,
  });
}

/** `areLoadsWritten`: published jobs are written into Salt's files at once, because Salt's command line reads them there. */
type Beside = {
  readonly files: Pick<JobCacheWriter, "keepJobs" | "addMinions" | "trim">;
  readonly areLoadsWritten: boolean;
  readonly queue: Pick<MirrorQueue, "close"> | undefined;
};

class WriterBesideSaltFiles implements JobCacheWriter {
  readonly #store: JobCache;
  readonly #beside: Beside;

  constructor(store: JobCache, beside: Beside) {
    this.#store = store;
    this.#beside = beside;
  }

  async keepJobs(jobs: Parameters<JobCacheWriter["keepJobs"]>[0]): Promise<void> {
    const { files, areLoadsWritten } = this.#beside;
    await Promise.all([this.#store.keepJobs(jobs), areLoadsWritten ? files.keepJobs(jobs) : undefined]);
  }

  keepNewJob(...job: Parameters<JobCacheWriter["keepNewJob"]>): Promise<void> {
    return this.#store.keepNewJob(...job);
  }

  async addMinions(...list: Parameters<JobCacheWriter["addMinions"]>): Promise<void> {
    const { files, areLoadsWritten } = this.#beside;
    await Promise.all([this.#store.addMinions(...list), areLoadsWritten ? files.addMinions(...list) : undefined]);
  }

  keepReturns(batch: Parameters<JobCacheWriter["keepReturns"]>[0]): ReturnType<JobCacheWriter["keepReturns"]> {
    return this.#store.keepReturns(batch);
  }

  whichReturned(jid: string, minionIds: readonly string[]): Promise<string[]> {
    return this.#store.whichReturned(jid, minionIds);
  }

  unkeptJobs(): Promise<string[]> {
    return this.#store.unkeptJobs();
  }

  /** Removes jobs from the store and from Salt's files, which may be a Salt master's. */
  async trim(o: TrimOptions): Promise<Trimmed> {
    const { removed, hasMore, olderThanJid } = await this.#store.trim(o);
    const files = await this.#beside.files.trim({ olderThanJid, stepsMax: o.stepsMax });
    return { removed: Math.max(removed, files.removed), hasMore: hasMore || files.hasMore, olderThanJid };
  }

  async close(): Promise<void> {
    await this.#store.close();
    await this.#beside.queue?.close();
  }
}

export type ClosableJobReader = MergedJobReader & Pick<JobCacheWriter, "close">;

/** Opens the job cache for operators' queries. It also finds jobs that a Salt master left. @throws SaltworksError STORE_FAILED, STORE_DAMAGED */
export function openJobCacheReader(
  config: JobCacheConfig,
  o: Omit<OpenOptions, "onStored" | "storeDelayMs">,
): ClosableJobReader {
  const { cachedir, hash_type: hashType } = config;
  const driver = driverOf(config);
  const store = driver.open(config, o);
  const told = {
    place: driver.place(config),
    ...(o.onFault === undefined ? {} : { onFault: o.onFault }),
    ...(o.onLeftOut === undefined ? {} : { onLeftOut: o.onLeftOut }),
  };
  return { ...withLocalCache(store, { cachedir, hashType, ...told }), close: () => store.close() };
}
