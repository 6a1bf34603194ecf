/** Input and result of a backend of external authentication. */
import type { ConfigMap } from "../../../config/yaml/values.ts";

export type CredentialTask = {
  readonly eauth: string;
  readonly username: string;
  readonly password: string;
};

/** `groups`: the user's groups, from the backend. `grants`: packed permissions from the backend; without them `external_auth` decides. */
export type CredentialResult = {
  readonly isAuthentic: boolean;
  readonly groups: readonly string[];
  readonly grants?: Uint8Array;
  /** For the log: why the backend could not check the credential. */
  readonly fault?: string;
};

/** The part of the configuration that backends read. */
export type CredentialConfig = {
  readonly externalAuth: ConfigMap;
  readonly isPermissive: boolean;
  /** All options as the operator wrote them. Some backends read options of their own. */
  readonly opts: ReadonlyMap<string, unknown>;
};

export type Backend = (config: CredentialConfig, task: CredentialTask) => Promise<CredentialResult>;

export const refused: CredentialResult = { isAuthentic: false, groups: [] };
export const authentic: CredentialResult = { isAuthentic: true, groups: [] };

export function faulty(fault: string): CredentialResult {
  return { ...refused, fault };
}
