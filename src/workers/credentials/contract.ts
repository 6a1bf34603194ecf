/** Input and answer of a backend of external authentication. */
import type { ConfigMap } from "../../config/yaml/values.ts";

export type CredentialTask = {
  readonly eauth: string;
  readonly username: string;
  readonly password: string;
};

/** `groups`: the user's groups that the backend knows. `grants`: permissions from the backend, packed; if undefined the configuration decides. */
export type CredentialResult = {
  readonly isAuthentic: boolean;
  readonly groups: readonly string[];
  readonly grants?: Uint8Array;
  /** Why the backend could not be asked, for the log. */
  readonly fault?: string;
};

/** The part of the configuration that backends read. */
export type CredentialConfig = {
  readonly externalAuth: ConfigMap;
  /** Every option as written: some backends have options of their own. */
  readonly opts: ReadonlyMap<string, unknown>;
};

export type Backend = (config: CredentialConfig, task: CredentialTask) => Promise<CredentialResult>;

export const refused: CredentialResult = { isAuthentic: false, groups: [] };
export const authentic: CredentialResult = { isAuthentic: true, groups: [] };

export function faulty(fault: string): CredentialResult {
  return { ...refused, fault };
}
