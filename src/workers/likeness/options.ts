/** The options that must be alike on all members of a cluster, and the form in which they are compared. */
import { createHash } from "node:crypto";
import type { OptionState } from "../../cluster/likeness/message.ts";
import type { MasterConfig } from "../../config/load.ts";

/**
 * What minions and operators meet on a member: where it listens, what it accepts, who may do what. Options about a machine's size, its paths and its
 * addresses may differ. Files are compared by content, so their roots' paths may differ, too.
 */
export const comparedOptions = [
  "cluster_id",
  "publish_port",
  "ret_port",
  "keysize",
  "sign_pub_messages",
  "master_sign_pubkey",
  "hash_type",
  "open_mode",
  "auto_accept",
  "autosign_timeout",
  "autosign_grains_dir",
  "rotate_aes_key",
  "publish_session",
  "rotation_grace",
  "allow_minion_key_revoke",
  "minion_event_tags",
  "file_recv",
  "file_recv_max_size",
  "fileserver_backend",
  "fileserver_followsymlinks",
  "fileserver_ignoresymlinks",
  "file_ignore_regex",
  "file_ignore_glob",
  "ext_pillar",
  "pillar_source_merging_strategy",
  "pillar_cache",
  "top_file_merging_strategy",
  "master_tops",
  "state_top",
  "external_auth",
  "token_expire",
  "publisher_acl",
  "publisher_acl_blacklist",
  "client_acl_verify",
  "peer",
  "peer_run",
  "nodegroups",
  "reactor",
  "keep_jobs_seconds",
  "preserve_minion_cache",
] as const;

const shownCharactersMax = 60;

/** Options that this version does not know, and that the configuration does not have, are left out. */
export function optionStates({ opts }: Pick<MasterConfig, "opts">): Record<string, OptionState> {
  return Object.fromEntries(
    comparedOptions.flatMap((name) => {
      const value: unknown = opts.get(name);
      return value === undefined ? [] : [[name, stateOf(value)]];
    }),
  );
}

function stateOf(value: unknown): OptionState {
  const digest = createHash("sha256").update(canonical(value)).digest("hex");
  const isShort = ["boolean", "number", "string"].includes(typeof value) && String(value).length <= shownCharactersMax;
  return isShort ? { digest, shown: String(value) } : { digest };
}

/** JSON with sorted keys, because the order of a map's keys means nothing. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member === "bigint") return String(member);
    if (typeof member !== "object" || member === null || Array.isArray(member)) return member;
    const entries = member instanceof Map ? [...member] : Object.entries(member);
    return Object.fromEntries(entries.sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)));
  });
}
