/** The lane for the database of jobs: copies into it what the local store feeds. It runs at a low priority, and no request waits for it. */
import { isMainThread, workerData } from "node:worker_threads";
import { BroughtRows } from "../../databases/brought-rows.ts";
import { type ExpiredRows, Expiry } from "../../databases/expiry.ts";
import { type MigrationAnswer, MigrationThread } from "../../databases/migration/thread.ts";
import { openDatabase } from "../../databases/registry.ts";
import { type ShippedStep, Shipper } from "../../databases/shipper.ts";
import { SaltworksError } from "../../errors.ts";
import { driverOf } from "../../store/drivers/registry.ts";
import type { FeedState } from "../../store/jobs/job-feed.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { DatabaseStart, DatabaseTask } from "../messages/lanes.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { yieldToOthers } from "../threads/priority.ts";

if (isMainThread)
  throw new SaltworksError("WORKER_LOST", "workers/lanes/database-lane.ts runs in a worker thread only");

const { config, name, startedThreads } = workerData as DatabaseStart & LaneStart;
answerForMeasures(nameLaneThread("database", startedThreads));
yieldToOthers();
let opened: { readonly shipper: Shipper; readonly expiry: Expiry; readonly migrations: MigrationThread } | undefined;

/** Opens the store at the first task. If it were opened as the thread starts, a failure would leave the task without an answer. */
function open() {
  const database = openDatabase(config, name);
  const brought = new BroughtRows(config.cachedir, name);
  return {
    shipper: new Shipper(driverOf(config).openFeed(config), database, brought),
    expiry: new Expiry(database),
    migrations: new MigrationThread(config, { database, brought }),
  };
}

type Answer = ShippedStep | FeedState | ExpiredRows | MigrationAnswer;

export default async function handle(task: DatabaseTask): Promise<Answer> {
  opened ??= open();
  const { shipper, expiry, migrations } = opened;
  if (task.kind === "migrate") return await migrations.run(task);
  if (task.kind === "expire") return await expiry.step(task);
  return task.kind === "look" ? shipper.feedState() : await shipper.step();
}
