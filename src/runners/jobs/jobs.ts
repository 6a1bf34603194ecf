/** Runner `jobs`: jobs of the job cache, and running jobs. Each file has one kind of query. */
import type { RunnerFunction } from "../contract/contract.ts";
import { jobsDatabase } from "./database.ts";
import { jobsLookup } from "./lookup.ts";
import { jobsMigrate } from "./migrate.ts";
import { jobsRunning } from "./running.ts";
import { jobsSearch } from "./search.ts";

export const jobsRunner: ReadonlyMap<string, RunnerFunction> = new Map([
  ...jobsRunning,
  ...jobsSearch,
  ...jobsLookup,
  ...jobsDatabase,
  ...jobsMigrate,
]);
