/** Backends of external authentication by name. `eauthBackends` in config/external-auth.ts lists the names. */
import { createHash } from "node:crypto";
import { backendConfig, type EauthBackend, isEauthBackend } from "../../config/external-auth.ts";
import { equalSecrets } from "../../crypto/compare.ts";
import {
  authentic,
  type Backend,
  type CredentialConfig,
  type CredentialResult,
  type CredentialTask,
  faulty,
  refused,
} from "./contract/credential.ts";
import { checkFile } from "./file.ts";
import { checkLdap } from "./ldap/login.ts";
import { checkMysql } from "./mysql/login.ts";
import { checkOidc } from "./oidc/login.ts";
import { checkPam } from "./pam.ts";
import { checkRest } from "./rest.ts";

const backends: Readonly<Record<EauthBackend, Backend>> = {
  // Salt's backend for trials: accepts every user and password.
  auto: async () => authentic,
  file: checkFile,
  ldap: checkLdap,
  mysql: checkMysql,
  oidc: checkOidc,
  pam: checkPam,
  rest: checkRest,
  sharedsecret: checkSharedSecret,
};

/** Never throws. If the backend fails, the credential is refused, with the fault for the log. */
export async function checkCredential(config: CredentialConfig, task: CredentialTask): Promise<CredentialResult> {
  const { eauth } = task;
  if (backendConfig(config.externalAuth, eauth) === undefined)
    return faulty(`the eauth system '${eauth}' is not enabled`);
  if (!isEauthBackend(eauth)) return faulty(`the eauth system '${eauth}' is not available here`);
  try {
    return await backends[eauth](config, task);
  } catch (error) {
    return faulty(`the eauth system '${eauth}' failed: ${(error as Error).message}`);
  }
}

async function checkSharedSecret({ opts }: CredentialConfig, { password }: CredentialTask): Promise<CredentialResult> {
  const secret = opts.get("sharedsecret");
  if (typeof secret !== "string" || secret === "")
    return faulty("external_auth:sharedsecret needs the option sharedsecret");
  const digest = (text: string) => createHash("sha256").update(text, "utf8").digest();
  return equalSecrets(digest(secret), digest(password)) ? authentic : refused;
}
