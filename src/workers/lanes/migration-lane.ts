/** The lane for migrations whose target is not the database that gets jobs. It runs at a low priority, and no request waits for it. */
import { isMainThread, workerData } from "node:worker_threads";
import { type MigrationAnswer, type MigrationTask, MigrationThread } from "../../databases/migration/thread.ts";
import { SaltworksError } from "../../errors.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { MigrationStart } from "../messages/lanes.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { yieldToOthers } from "../threads/priority.ts";

if (isMainThread)
  throw new SaltworksError("WORKER_LOST", "workers/lanes/migration-lane.ts runs in a worker thread only");

const { config, startedThreads } = workerData as MigrationStart & LaneStart;
answerForMeasures(nameLaneThread("migrate", startedThreads));
yieldToOthers();
const migrations = new MigrationThread(config);

export default async function handle(task: MigrationTask): Promise<MigrationAnswer> {
  return await migrations.run(task);
}
