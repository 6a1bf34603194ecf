/** The lane for Salt's own files: updates them from our store, and takes over the jobs in them. It runs at a low priority. */
import { join } from "node:path";
import { isMainThread, workerData } from "node:worker_threads";
import { SaltworksError } from "../../errors.ts";
import { logItemsMax } from "../../limits.ts";
import { driverOf } from "../../store/drivers/registry.ts";
import { openMinionData } from "../../store/minions/data.ts";
import { openLocalCache } from "../../store/salt/local-cache.ts";
import { type MirrorStep, SaltMirror } from "../../store/salt/mirror.ts";
import { MirrorQueue } from "../../store/salt/mirror-queue.ts";
import { JobTakeOver } from "../../store/salt/take-over-jobs.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { SaltAnswer, SaltStart, SaltTask, TakenJobs } from "../messages/lanes.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { yieldToOthers } from "../threads/priority.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/lanes/salt-lane.ts runs in a worker thread only");

const { config, queueFile, layouts, startedThreads } = workerData as SaltStart & LaneStart;
answerForMeasures(nameLaneThread("salt", startedThreads));
yieldToOthers();
const layout = { cachedir: config.cachedir, hashType: config.hash_type };
const storeFaults: string[] = [];
const driver = driverOf(config);
const jobs = driver.open(config, { onFault });
let mirror: SaltMirror | undefined;
const takeOver = new JobTakeOver({ ...layout, jobs, files: openLocalCache(layout) });

/** Keeps a fault for the next answer, because the thread has no log of its own. */
function onFault({ message }: Error): void {
  if (storeFaults.length < logItemsMax) storeFaults.push(message);
}

function openMirror(): SaltMirror {
  return new SaltMirror({
    ...layout,
    jobs,
    returns: driver.openKeyedReturns(config, onFault),
    minions: openMinionData({ path: join(config.cachedir, "minions.lmdb"), isReadOnly: true, onFault }),
    queue: new MirrorQueue(queueFile),
    layouts,
    storesEndTime: config.job_cache_store_endtime,
  });
}

async function stepOf(task: SaltTask): Promise<MirrorStep | TakenJobs> {
  if (task.kind === "takeJobs") return await takeOver.step(task);
  mirror ??= openMirror();
  return await mirror.step();
}

/** Runs one step. If it fails, its store faults come with the next answer. */
export default async function handle(task: SaltTask): Promise<SaltAnswer<MirrorStep | TakenJobs>> {
  return { ...(await stepOf(task)), storeFaults: storeFaults.splice(0) };
}
