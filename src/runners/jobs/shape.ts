/** A stored job under Salt's headings, and the job cache that it is read from. */
import { databaseNames, isDatabaseName } from "../../config/options/job-cache-drivers.ts";
import { SaltworksError } from "../../errors.ts";
import { namesOfSameJobs } from "../../store/drivers/registry.ts";
import { defaultUser, jobMetadata } from "../../store/jobs/facts.ts";
import { startTimeText } from "../../wire/jid.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { textArgument } from "../contract/arguments.ts";
import { progress } from "../contract/caller-events.ts";
import type { RunnerContext, RunnerJobReader } from "../contract/contract.ts";

/** The name of Salt's own files as a job cache. */
const saltFilesName = "local_cache";

export type Described = Map<string, Encodable>;

/** A job's function, arguments, target and user. */
export function describe(load: ValueMap): Described {
  const described: Described = new Map<string, Encodable>([
    ["Function", load.get("fun") ?? "unknown-function"],
    ["Arguments", load.get("arg") ?? []],
    ["Target", load.get("tgt") ?? "unknown-target"],
    ["Target-type", load.get("tgt_type") ?? "list"],
    ["User", load.get("user") ?? defaultUser],
  ]);
  const metadata = jobMetadata(load);
  if (metadata !== undefined) described.set("Metadata", metadata);
  return described;
}

export function describeAt(jid: string, load: ValueMap): Described {
  return describe(load).set("StartTime", startTimeText(jid));
}

/** Adds `EndTime` if the option asks for it and the job's end is recorded. */
export async function addEndTime(
  context: RunnerContext,
  jobs: RunnerJobReader,
  jid: string,
  described: Described,
): Promise<void> {
  if (!context.config.job_cache_store_endtime) return;
  const end = await jobs.endTime(jid);
  if (end !== undefined) described.set("EndTime", end);
}

/** The job cache that `ext_source` names, else the master's own. @throws SaltworksError FUNCTION_FAILED for an unknown one */
export async function sourceOf(context: RunnerContext, args: ValueMap): Promise<RunnerJobReader> {
  const { config } = context;
  const name = textArgument(args, "ext_source");
  if (args.get("display_progress") === true)
    await progress(context, { message: `Querying returner: ${name === "" ? config.master_job_cache : name}` });
  if (name === saltFilesName) return context.saltJobs;
  if (isDatabaseName(name) || (name !== "" && name === context.databases.own))
    return context.databases.open(name).reader;
  const names = namesOfSameJobs(config).filter((each) => each !== saltFilesName && !isDatabaseName(each));
  if (name === "" || names.some((each) => each === name)) return context.jobs;
  const known = [...names, saltFilesName, ...databaseNames].join(", ");
  throw new SaltworksError("FUNCTION_FAILED", `there is no job cache ${name} here, only ${known}`, { name });
}
