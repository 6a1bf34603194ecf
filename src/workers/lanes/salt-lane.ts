/** The lane for Salt's own files: keeps them current from our store, and takes over their jobs. It yields to all other threads. */
import { join } from "node:path";
import { isMainThread, workerData } from "node:worker_threads";
import { SaltworksError } from "../../errors.ts";
import { logItemsMax } from "../../limits.ts";
import { lmdbJobsPath, openDriver } from "../../store/drivers/table.ts";
import { openMinionData } from "../../store/minions/data.ts";
import { SaltFeed } from "../../store/salt/feed.ts";
import { openLocalCache } from "../../store/salt/local-cache.ts";
import { type MirrorStep, SaltMirror } from "../../store/salt/mirror.ts";
import { OldJobs } from "../../store/salt/old-jobs.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { SaltAnswer, SaltStart, SaltTask, TakenJobs } from "../messages/lanes.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { yieldToOthers } from "../threads/priority.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/lanes/salt-lane.ts runs in a worker thread only");

const { config, feedFile, layouts, startedThreads } = workerData as SaltStart & LaneStart;
answerForMeasures(nameLaneThread("salt", startedThreads));
yieldToOthers();
const layout = { cachedir: config.cachedir, hashType: config.hash_type };
const storeFaults: string[] = [];
const jobs = openDriver(config, { onFault });
let mirror: SaltMirror | undefined;
const oldJobs = new OldJobs({ ...layout, jobs, files: openLocalCache(layout) });

/** The thread has no log of its own. */
function onFault({ message }: Error): void {
  if (storeFaults.length < logItemsMax) storeFaults.push(message);
}

function openMirror(): SaltMirror {
  return new SaltMirror({
    ...layout,
    jobsPath: lmdbJobsPath(config.cachedir),
    jobs,
    minions: openMinionData({ path: join(config.cachedir, "minions.lmdb"), isReadOnly: true }),
    feed: new SaltFeed(feedFile),
    layouts,
    storesEndTime: config.job_cache_store_endtime,
    onFault,
  });
}

async function stepOf(task: SaltTask): Promise<MirrorStep | TakenJobs> {
  if (task.kind === "takeJobs") return await oldJobs.step(task);
  mirror ??= openMirror();
  return await mirror.step();
}

/** What a step that fails has met comes with the next answer. */
export default async function handle(task: SaltTask): Promise<SaltAnswer<MirrorStep | TakenJobs>> {
  return { ...(await stepOf(task)), storeFaults: storeFaults.splice(0) };
}
