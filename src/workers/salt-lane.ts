/** The lane for Salt's own files: keeps them current from our store, and takes over the jobs that are in them. It gives way to all other threads. */
import { join } from "node:path";
import { isMainThread, workerData } from "node:worker_threads";
import { SaltworksError } from "../errors.ts";
import { saltMirrorStepMs } from "../limits.ts";
import { openLmdbJobCache } from "../store/lmdb-job-cache.ts";
import { openLocalCache } from "../store/local-cache-driver.ts";
import { openMinionData } from "../store/minion-data.ts";
import { SaltFeed } from "../store/salt/feed.ts";
import { type MirrorStep, SaltMirror } from "../store/salt/mirror.ts";
import { takeOverJobs } from "../store/salt/old-jobs.ts";
import { answerForMeasures } from "./lane-measures.ts";
import type { LaneStart, SaltStart, SaltTask, TakenJobs } from "./messages.ts";
import { nameLaneThread } from "./thread-name.ts";
import { yieldToOthers } from "./thread-priority.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/salt-lane.ts runs in a worker thread only");

const { config, feedFile, layouts, startedThreads } = workerData as SaltStart & LaneStart;
answerForMeasures(nameLaneThread("salt", startedThreads));
yieldToOthers();
const layout = { cachedir: config.cachedir, hashType: config.hash_type };
const jobsPath = join(config.cachedir, "jobs.lmdb");
const jobs = openLmdbJobCache({
  path: jobsPath,
  shards: config.store_shards,
  durability: config.job_cache_durability,
});
const files = openLocalCache(layout);
let mirror: SaltMirror | undefined;
let taking: AsyncGenerator<number, void, void> | undefined;
/** Of one step: what is wrong with one file is mostly wrong with all. */
const faultsMax = 20;
let faults: TakenJobs["faults"][number][] = [];

function openMirror(): SaltMirror {
  return new SaltMirror({
    ...layout,
    jobsPath,
    jobs,
    minions: openMinionData({ path: join(config.cachedir, "minions.lmdb"), isReadOnly: true }),
    feed: new SaltFeed(feedFile),
    layouts,
    storesEndTime: config.job_cache_store_endtime,
  });
}

export default async function handle(task: SaltTask): Promise<MirrorStep | TakenJobs> {
  if (task.kind === "takeJobs") return takeSome(task);
  mirror ??= openMirror();
  return mirror.step();
}

/** For a while; the next task goes on where this one stopped. */
async function takeSome({ sinceMs, olderThanJid }: Extract<SaltTask, { kind: "takeJobs" }>): Promise<TakenJobs> {
  faults = [];
  const onFault = (fault: TakenJobs["faults"][number]) => {
    if (faults.length < faultsMax) faults.push(fault);
  };
  taking ??= takeOverJobs({ ...layout, jobs, files, sinceMs, olderThanJid, onFault });
  const endMs = performance.now() + saltMirrorStepMs;
  let taken = 0;
  while (performance.now() < endMs) {
    const { value, done } = await taking.next();
    if (done === true) return { taken, isDone: true, faults };
    taken += value;
  }
  return { taken, isDone: false, faults };
}
