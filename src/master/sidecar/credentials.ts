/** Checks of users by the site's own login modules (`external_auth`), in Python; all others go to the lane of credentials. */
import type { MasterConfig } from "../../config/load.ts";
import { hasCode, type SaltworksError } from "../../errors.ts";
import { credentialCheckTimeoutMs } from "../../limits.ts";
import { servedNames } from "../../sidecar/availability.ts";
import { encode } from "../../wire/msgpack.ts";
import type { Value } from "../../wire/values.ts";
import {
  authentic,
  type CredentialResult,
  type CredentialTask,
  faulty,
  refused,
} from "../../workers/credentials/contract/credential.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { SidecarCalls } from "./sidecar-calls.ts";

export function withPythonLogins(
  config: MasterConfig,
  lane: Pick<LanePool, "run">,
  sidecar: SidecarCalls | undefined,
): Pick<LanePool, "run"> {
  const served = servedNames(config, "auth");
  if (sidecar === undefined || served.length === 0) return lane;
  return {
    run: async <Result>(task: object): Promise<Result> => {
      const { eauth, username, password } = task as CredentialTask;
      if (!served.includes(eauth)) return await lane.run<Result>(task);
      try {
        const answer = await sidecar.ask({ kind: "login", eauth, username, password }, credentialCheckTimeoutMs);
        return resultOf(answer) as Result;
      } catch (error) {
        if (!hasCode(error, "FUNCTION_FAILED")) throw error;
        // Not its text, which may hold the password.
        return faulty(`the login module raised ${String((error as SaltworksError).detail.className)}`) as Result;
      }
    },
  };
}

function resultOf(answer: Value): CredentialResult {
  if (!(answer instanceof Map)) return faulty("Python gave no answer of a login");
  if (answer.get("is_authentic") !== true) return refused;
  const [groups, acl] = [answer.get("groups"), answer.get("acl")];
  return {
    ...authentic,
    groups: Array.isArray(groups) ? groups.map(String) : [],
    ...(Array.isArray(acl) ? { grants: encode(acl, "bin") } : {}),
  };
}
