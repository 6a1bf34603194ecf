/** The lane for the database of jobs: copies into it what the local store feeds. It runs at a low priority, and no request waits for it. */
import { isMainThread, workerData } from "node:worker_threads";
import { isDatabaseName } from "../../config/options/job-cache-drivers.ts";
import { BroughtRows } from "../../databases/brought-rows.ts";
import { type ExpiredRows, Expiry } from "../../databases/expiry.ts";
import { type MigrationAnswer, MigrationThread } from "../../databases/migration/thread.ts";
import { openDatabase } from "../../databases/registry.ts";
import { Shipper } from "../../databases/shipper.ts";
import { SaltworksError } from "../../errors.ts";
import { driverOf } from "../../store/drivers/registry.ts";
import type { FeedState } from "../../store/jobs/job-feed.ts";
import { Complaints } from "../complaints.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { DatabaseStart, DatabaseTask, ShipAnswer } from "../messages/lanes.ts";
import { openPythonJobs } from "../python-jobs.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { yieldToOthers } from "../threads/priority.ts";

if (isMainThread)
  throw new SaltworksError("WORKER_LOST", "workers/lanes/database-lane.ts runs in a worker thread only");

const { config, name, environment, startedThreads } = workerData as DatabaseStart & LaneStart;
answerForMeasures(nameLaneThread("database", startedThreads));
yieldToOthers();
const complaints = new Complaints();
let opened: { readonly shipper: Shipper; readonly expiry: Expiry; readonly migrations: MigrationThread } | undefined;

/** Opens the store at the first task. If it were opened as the thread starts, a failure would leave the task without an answer. */
function open() {
  const database = isDatabaseName(name)
    ? openDatabase(config, name)
    : openPythonJobs(config, environment, name, (text) => complaints.add(text));
  const brought = new BroughtRows(config.cachedir, name);
  return {
    shipper: new Shipper(driverOf(config).openFeed(config), database, brought),
    expiry: new Expiry(database),
    migrations: new MigrationThread(config, { database, brought }),
  };
}

type Answer = ShipAnswer | FeedState | ExpiredRows | MigrationAnswer;

export default async function handle(task: DatabaseTask): Promise<Answer> {
  opened ??= open();
  const { shipper, expiry, migrations } = opened;
  if (task.kind === "migrate") return await migrations.run(task);
  if (task.kind === "expire") return await expiry.step(task);
  return task.kind === "look" ? shipper.feedState() : { ...(await shipper.step()), complaints: complaints.take() };
}
