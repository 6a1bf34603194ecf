/** Runner `jobs`: what the job cache holds, and what runs now. A file for each kind of question; each is one line here. */
import type { RunnerFunction } from "../contract/contract.ts";
import { jobsLookup } from "./jobs-lookup.ts";
import { jobsRunning } from "./jobs-running.ts";
import { jobsSearch } from "./jobs-search.ts";

export const jobsRunner: ReadonlyMap<string, RunnerFunction> = new Map([...jobsRunning, ...jobsSearch, ...jobsLookup]);
