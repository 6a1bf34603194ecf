/** Runner `jobs`: what the job cache holds, and what runs now. Each file answers one kind of question. */
import type { RunnerFunction } from "../contract/contract.ts";
import { jobsLookup } from "./lookup.ts";
import { jobsRunning } from "./running.ts";
import { jobsSearch } from "./search.ts";

export const jobsRunner: ReadonlyMap<string, RunnerFunction> = new Map([...jobsRunning, ...jobsSearch, ...jobsLookup]);
