/** Runner functions `jobs.cache_status` and `jobs.create_schema`: the database that gets a copy of the job cache. */
import { databaseNames, isDatabaseName } from "../../config/options/job-cache-drivers.ts";
import { SaltworksError } from "../../errors.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { floatItem } from "../../wire/values.ts";
import { parametersOf, textArgument } from "../contract/arguments.ts";
import type {
  CacheStatus,
  EventReturnStatus,
  ExpiryStatus,
  RunnerContext,
  RunnerFunction,
} from "../contract/contract.ts";
import { masterOf } from "../contract/run-job.ts";
import { shownMigration } from "./migrate.ts";

async function cacheStatus(context: RunnerContext): Promise<Encodable> {
  return shown(await masterOf(context).cacheStatus());
}

const sentences: Readonly<Record<CacheStatus["state"], string>> = {
  none: "no database gets jobs: neither master_job_cache nor ext_job_cache names one",
  starting: "the database has not answered yet",
  current: "the database has what the local store has",
  behind: "the database takes rows, and more wait for it",
  failing: "the database takes no rows: they wait in the local store, which removes none of them meanwhile",
};

function shown(status: CacheStatus): Encodable {
  const { name, place, state, counters } = status;
  const found = new Map<string, Encodable>([
    ["State", state],
    ["Meaning", sentences[state]],
  ]);
  if (status.migration !== undefined) found.set("Migration", new Map(shownMigration(status.migration)));
  if (name === undefined) return withEventReturns(found, status);
  found.set("Database", name).set("Place", place);
  found.set("Waiting", status.waiting).set("Lag-seconds", seconds(status.lagSeconds));
  found.set("Rows-per-second", status.rowsPerSecond);
  setReasons(found, status);
  if (status.isMissing)
    found.set(
      "Left-out",
      "so much waited that later jobs are in the local store only; they are copied after the others",
    );
  found.set("Counts", new Map(Object.entries(counters)));
  if (status.expiry !== undefined) found.set("Removed-rows", removedRows(status.expiry));
  return withEventReturns(found, status);
}

function withEventReturns(found: Map<string, Encodable>, { eventReturns }: CacheStatus): Encodable {
  if (eventReturns.length === 0) return found;
  return found.set(
    "Event-returns",
    new Map(eventReturns.map((one): [string, Encodable] => [one.name, shownEvents(one)])),
  );
}

function shownEvents(status: EventReturnStatus): Encodable {
  const found = new Map<string, Encodable>([
    ["State", status.state],
    ["Place", status.place],
    ["Waiting", status.waiting],
    ["Waiting-bytes", status.waitingBytes],
    ["Lag-seconds", seconds(status.lagSeconds)],
    ["Events-per-second", status.eventsPerSecond],
  ]);
  setReasons(found, status);
  return found.set("Counts", new Map(Object.entries(status.counters)));
}

/** Why nothing is written, or why it last was not. */
function setReasons(
  found: Map<string, Encodable>,
  status: Pick<CacheStatus, "fault" | "lastFault" | "failingSeconds" | "nextTrySeconds">,
): void {
  if (status.fault !== undefined) {
    found.set("Reason", status.fault).set("Failing-seconds", seconds(status.failingSeconds));
    if (status.nextTrySeconds !== undefined) found.set("Next-try-seconds", seconds(status.nextTrySeconds));
  } else if (status.lastFault !== undefined) found.set("Last-failure", status.lastFault);
}

function removedRows({ keepSeconds, archives, fault, ...counts }: ExpiryStatus): Encodable {
  const { jobs, returns, events, isUnderWay } = counts;
  const shown = new Map<string, Encodable>([
    ["Older-than-seconds", keepSeconds],
    ["Archived", archives],
    ["Under-way", isUnderWay],
    ...Object.entries({ jobs, returns, events }),
  ]);
  return fault === undefined ? shown : shown.set("Reason", fault);
}

/** To a tenth. */
function seconds(value: number): Encodable {
  return floatItem(Math.round(value * 10) / 10);
}

async function createSchema({ databases, master }: RunnerContext, args: ValueMap): Promise<Encodable> {
  const database = databases.open(nameOf(databases.own, textArgument(args, "name")));
  const made = await database.createSchema();
  if (made.length > 0) await master?.retryDatabase();
  return new Map<string, Encodable>([
    ["Database", database.name],
    ["Place", database.place],
    ["Tables-made", [...made]],
  ]);
}

/** @throws SaltworksError FUNCTION_FAILED: wrong arguments end a runner with exit code 0, as in Salt */
function nameOf(own: string | undefined, asked: string): string {
  const name = asked === "" ? own : asked;
  if (name !== undefined && (isDatabaseName(name) || name === own)) return name;
  const known = databaseNames.join(", ");
  const why = name === undefined ? "no database is configured" : `there is no database ${name} here`;
  throw new SaltworksError("FUNCTION_FAILED", `${why}; name=NAME takes one of ${known}`);
}

export const jobsDatabase: readonly (readonly [string, RunnerFunction])[] = [
  [
    "jobs.cache_status",
    {
      parameters: [],
      doc: "How far the database of jobs (master_job_cache or ext_job_cache) is behind the local store, and why: what waits, for how long, rows a second, failures and the next try. The same of each returner of event_return, and the last migration.",
      run: cacheStatus,
    },
  ],
  [
    "jobs.create_schema",
    {
      parameters: parametersOf("name"),
      doc: "Makes the tables of Salt's returner in the database of jobs, or else of event_return, if they are missing. name=mysql chooses one that is not configured.",
      isOffline: true,
      run: createSchema,
    },
  ],
];
