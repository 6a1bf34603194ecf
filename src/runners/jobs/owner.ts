/** Checks the owner of a job: restricted users see only their own jobs. */
import { SaltworksError } from "../../errors.ts";
import type { RunnerContext } from "../contract/contract.ts";
import { fieldsOf } from "./stored-body.ts";

export async function ownerOf({ jobs }: RunnerContext, jid: string): Promise<unknown> {
  const stored = await jobs.job(jid);
  return stored && fieldsOf(stored.load).get("user");
}

/** @throws SaltworksError FUNCTION_FAILED if the caller may see only its own jobs and this is another user's */
export function requireOwner({ caller }: RunnerContext, jid: string, owner: unknown): void {
  if (caller?.isOwnOnly === true && owner !== caller.user)
    throw new SaltworksError("FUNCTION_FAILED", `job ${jid} is not one of ${caller.user}'s`, { jid });
}
