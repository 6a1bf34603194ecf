/** A stored job under Salt's headings, and the job cache that it is read from. */
import { SaltworksError } from "../../errors.ts";
import { defaultUser, jobMetadata } from "../../store/jobs/facts.ts";
import { openLocalCache } from "../../store/salt/local-cache.ts";
import { startTimeText } from "../../wire/jid.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { textArgument } from "../contract/arguments.ts";
import type { JobReader, RunnerContext } from "../contract/contract.ts";
import { progress } from "../contract/told.ts";

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
export function addEndTime(context: RunnerContext, jobs: JobReader, jid: string, described: Described): void {
  if (!context.config.job_cache_store_endtime) return;
  const end = jobs.endTime(jid);
  if (end !== undefined) described.set("EndTime", end);
}

/** The job cache that `ext_source` names, else the master's own. @throws SaltworksError FUNCTION_FAILED for an unknown one */
export async function sourceOf(context: RunnerContext, args: ValueMap): Promise<JobReader> {
  const { config } = context;
  const name = textArgument(args, "ext_source");
  if (args.get("display_progress") === true)
    await progress(context, { message: `Querying returner: ${name === "" ? config.master_job_cache : name}` });
  if (name === "" || name === "lmdb") return context.jobs;
  if (name === "local_cache") return openLocalCache({ cachedir: config.cachedir, hashType: config.hash_type });
  throw new SaltworksError("FUNCTION_FAILED", `there is no job cache ${name} here, only lmdb and local_cache`, {
    name,
  });
}
