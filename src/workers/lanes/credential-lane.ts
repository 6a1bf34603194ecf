/** The lane that checks credentials by the backends of external authentication. A password hash takes milliseconds, a web service seconds. */
import { isMainThread, workerData } from "node:worker_threads";
import { SaltworksError } from "../../errors.ts";
import { checkCredential } from "../credentials/backends.ts";
import type { CredentialResult, CredentialTask } from "../credentials/contract/credential.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { RunnerStart } from "../messages/runner.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { countTurns } from "../threads/turns.ts";

if (isMainThread)
  throw new SaltworksError("WORKER_LOST", "workers/lanes/credential-lane.ts runs in a worker thread only");

const { config, startedThreads, turns } = workerData as Pick<RunnerStart, "config"> & LaneStart;
answerForMeasures(nameLaneThread("eauth", startedThreads));
countTurns(turns);

export default async function handle(task: CredentialTask): Promise<CredentialResult> {
  const { external_auth: externalAuth, permissive_acl: isPermissive, opts } = config;
  return await checkCredential({ externalAuth, isPermissive, opts }, task);
}
