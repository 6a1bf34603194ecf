/**
 * The origin of a publisher's grants. It is stored with a job that waits for absent minions, so that the grants are checked again before the job is
 * sent. It holds no password and no token.
 */
import type { ConfigValue } from "../../config/yaml/values.ts";
import type { Encodable, Value } from "../../wire/values.ts";

/** `grants`: a list that the eauth backend returned with the login. Only another login could renew it. */
export type GrantSource =
  | { readonly kind: "local"; readonly user: string; readonly isMaster: boolean }
  /** A minion that `peer` permits to publish. It publishes as the master's own user. */
  | { readonly kind: "peer"; readonly user: string; readonly minion: string }
  | {
      readonly kind: "eauth";
      readonly user: string;
      readonly eauth: string;
      readonly groups: readonly string[];
      readonly grants: readonly ConfigValue[] | undefined;
    };

/** Writes JSON, which keeps all configuration values. */
export function writeGrantSource(source: GrantSource): Encodable {
  return JSON.stringify(source);
}

/** @returns undefined for a job of the master's own user, or of a release that stored no source */
export function readGrantSource(stored: Value | Encodable | undefined): GrantSource | undefined {
  return typeof stored === "string" ? (JSON.parse(stored) as GrantSource) : undefined;
}
