/** What a backend decided, for tests that expect a decision. */
import assert from "node:assert/strict";
import type { CredentialResult } from "../../../src/workers/credentials/contract/credential.ts";

/** Whether the user is known. Fails if the backend could not decide. */
export async function decided(result: Promise<CredentialResult>): Promise<boolean> {
  const { isAuthentic, fault } = await result;
  assert.equal(fault, undefined);
  return isAuthentic;
}
