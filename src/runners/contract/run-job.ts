/** Publishes a job for a runner, and waits for it as Salt's own client does. */
import { SaltworksError } from "../../errors.ts";
import { print } from "./caller-events.ts";
import type { JobOutcome, JobRequest, MasterAccess, RunnerContext } from "./contract.ts";

/** @throws SaltworksError MASTER_UNREACHABLE */
export function masterOf(context: RunnerContext): MasterAccess {
  if (context.master === undefined) throw new SaltworksError("MASTER_UNREACHABLE", "the master is not running");
  return context.master;
}

/** The text that Salt's client prints for its caller. */
const unmatchedText = "No minions matched the target. No command was sent, no jid was assigned.";

/** Waits for the request's timeout, else for the configured one. @throws SaltworksError MASTER_UNREACHABLE, FUNCTION_FAILED */
export async function runJob(
  context: RunnerContext,
  request: Omit<JobRequest, "timeoutMs" | "gatherTimeoutMs"> & Partial<JobRequest>,
): Promise<JobOutcome> {
  const { timeout, gather_job_timeout: gatherSeconds } = context.config;
  const waits = { timeoutMs: timeout * 1_000, gatherTimeoutMs: gatherSeconds * 1_000 };
  const outcome = await masterOf(context).runJob({ ...waits, ...request });
  if (outcome.jid === "") await print(context, unmatchedText);
  return outcome;
}
