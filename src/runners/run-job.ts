/** A job of a runner's own: published by the master, and waited for as Salt's own client does. */
import { SaltworksError } from "../errors.ts";
import type { JobOutcome, JobRequest, MasterAccess, RunnerContext } from "./contract.ts";

/** @throws SaltworksError MASTER_UNREACHABLE */
export function masterOf(context: RunnerContext): MasterAccess {
  if (context.master === undefined) throw new SaltworksError("MASTER_UNREACHABLE", "the master is not running");
  return context.master;
}

/** With the waits of the configuration, unless the request has its own. @throws SaltworksError MASTER_UNREACHABLE, FUNCTION_FAILED */
export function runJob(
  context: RunnerContext,
  request: Omit<JobRequest, "timeoutMs" | "gatherTimeoutMs"> & Partial<JobRequest>,
): Promise<JobOutcome> {
  const { timeout, gather_job_timeout: gatherSeconds } = context.config;
  return masterOf(context).runJob({ timeoutMs: timeout * 1_000, gatherTimeoutMs: gatherSeconds * 1_000, ...request });
}
