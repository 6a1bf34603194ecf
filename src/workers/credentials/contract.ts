/** What a backend of external authentication is given and what it answers. */
import type { ConfigMap } from "../../config/yaml/values.ts";

export type CredentialTask = {
  readonly eauth: string;
  readonly username: string;
  readonly password: string;
};

/** `groups`: of whom the backend knows. `grants`: permissions that the backend itself gives, packed; undefined leaves them to the configuration. */
export type CredentialResult = {
  readonly isAuthentic: boolean;
  readonly groups: readonly string[];
  readonly grants?: Uint8Array;
  /** Why it could not be asked at all, for the log. */
  readonly fault?: string;
};

/** What backends read of the configuration. */
export type CredentialConfig = {
  readonly externalAuth: ConfigMap;
  /** Every option as it is written: backends have some of their own. */
  readonly opts: ReadonlyMap<string, unknown>;
};

export type Backend = (config: CredentialConfig, task: CredentialTask) => Promise<CredentialResult>;

export const refused: CredentialResult = { isAuthentic: false, groups: [] };
export const authentic: CredentialResult = { isAuthentic: true, groups: [] };

export function faulty(fault: string): CredentialResult {
  return { ...refused, fault };
}
