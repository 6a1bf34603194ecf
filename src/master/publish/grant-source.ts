/**
 * Where a publisher's grants came from, kept with a job that waits for minions, so that they can be looked up again before the job goes out.
 * It holds no password and no token.
 */
import type { ConfigValue } from "../../config/yaml/values.ts";
import type { Encodable, Value } from "../../wire/values.ts";

/** `grants`: a list that came with the login and that nothing but another login could renew. */
export type GrantSource =
  | { readonly kind: "local"; readonly user: string; readonly isMaster: boolean }
  /** A minion that `peer` permits to publish, as the master's own user. */
  | { readonly kind: "peer"; readonly user: string; readonly minion: string }
  | {
      readonly kind: "eauth";
      readonly user: string;
      readonly eauth: string;
      readonly groups: readonly string[];
      readonly grants: readonly ConfigValue[] | undefined;
    };

/** As JSON, in which configurations lose nothing. */
export function writeGrantSource(source: GrantSource): Encodable {
  return JSON.stringify(source);
}

/** @returns undefined where the job is of the master's own user, or of a release that kept none */
export function readGrantSource(stored: Value | Encodable | undefined): GrantSource | undefined {
  return typeof stored === "string" ? (JSON.parse(stored) as GrantSource) : undefined;
}
