/** Metrics of what is beside the master: the HTTP API's process, git, the site's own Python, and the cluster that it is a member of. */
import { metric } from "./metric.ts";

export const apiProcess = {
  saltworks_api_restarts_total: metric(
    "counter",
    [],
    "Starts of the HTTP API after its first one: it had ended by itself. 0 without `rest_cherrypy`.",
  ),
};

export const gitFetches = {
  saltworks_git_fetches_total: metric(
    "counter",
    ["outcome"],
    "Fetches of git repositories: rounds (`fetched`), rounds with a failure (`failed`), repositories with something new (`changed`), and locked ones (`locked`).",
  ),
};

export const sitePython = {
  saltworks_sidecar_requests_total: metric(
    "counter",
    ["outcome"],
    "Questions to the site's own Python: all (`asked`), and how many failed, timed out or found no room (`failed`, `timeout`, `refused`).",
  ),
  saltworks_sidecar_processes: metric("gauge", [], "Python processes that run."),
  saltworks_sidecar_waiting: metric("gauge", [], "Questions that wait for a Python process."),
  saltworks_sidecar_processes_total: metric(
    "counter",
    ["what"],
    "Python processes: starts (`started`), and ends or kills in a call (`lost`).",
  ),
  saltworks_sidecar_pillars_total: metric(
    "counter",
    ["outcome"],
    "Pillars that were rendered beside Python (`rendered`), or found no room (`refused`).",
  ),
};

/** Only of a member of a cluster. */
export const cluster = {
  saltworks_cluster_member: metric(
    "gauge",
    ["cluster", "member"],
    "1 if this member has joined the cluster since its start, 0 while it waits for it. Other masters have no metric of a cluster.",
  ),
  saltworks_cluster_servers: metric(
    "gauge",
    ["state"],
    "Servers of the cluster: `known`; `answering`; `storing`, which answer and keep records. Looked at each 10 s.",
  ),
  saltworks_cluster_server: metric(
    "gauge",
    ["server", "what"],
    "1 or 0 for each server that this member's own knows: `answering`; `storing`, which answers and keeps records; `leading` the others.",
  ),
  saltworks_cluster_server_behind: metric(
    "gauge",
    ["server"],
    "Records of the cluster's streams and servers that this server has not taken over from the leader. None while no leader is known.",
  ),
  saltworks_cluster_quorum: metric(
    "gauge",
    [],
    "1 if more than half of the servers work together, so that changes are taken.",
  ),
  saltworks_cluster_streams_without_leader: metric(
    "gauge",
    [],
    "Streams of the cluster that take no records, because too few of the servers with a copy answer. Looked at each 10 s. With `cluster_nats_servers` it stays 0, and `saltworks_cluster_quorum` is 0 for such a stream.",
  ),
  saltworks_cluster_storing: metric(
    "gauge",
    [],
    "1 if this member's own server keeps records; 0 if it does not answer, or has turned its store off, as it does when its disk is full. With `cluster_nats_servers`: 1 while the streams take records.",
  ),
  saltworks_cluster_server_restarts_total: metric(
    "counter",
    [],
    "Starts of this member's `nats-server` after its first.",
  ),
  saltworks_cluster_faults_total: metric(
    "counter",
    ["fault"],
    "What this member has noticed: `store_off`: a server turned its store off; `store_mended`: this member's own one was started again for it; `quorum_lost`; `leader_lost`: a stream had no leader at two looks while the servers had a majority; `unanswered`: looks without an answer of its own server, or of `cluster_nats_servers`; `secrets_lost`: the cluster's secrets vanished from NATS.",
  ),
  saltworks_cluster_keys_pending: metric("gauge", [], "Minions whose keys here may differ from the cluster's."),
  saltworks_cluster_keys_total: metric(
    "counter",
    ["outcome"],
    "Changes of minions' keys: `sent` to the cluster; `applied`, which others made; `conflict`: made here, and given up for another member's; `put_failed`: not confirmed, and sent again; `ignored`: damaged or of a newer version; `fault`: files that could not be read or written.",
  ),
  saltworks_cluster_tokens_total: metric(
    "counter",
    ["outcome"],
    "Tokens of external authentication that were made or removed: `sent` to the other members, `received` from them, or `failed`, which are tried again.",
  ),
  saltworks_cluster_aes_rotations_total: metric(
    "counter",
    ["by"],
    "New AES keys of the cluster: made by this member (`own`), followed (`other`), or made by two at once (`conflict`).",
  ),
};

/** Only on a member of a cluster. */
export const clusterJobs = {
  saltworks_cluster_jobs_total: metric(
    "counter",
    ["outcome"],
    "Jobs of the cluster. Of this member: `appended` to the sequence, `refused` because too few members answered, `duplicates` (another job had the id), or `late` (in the sequence, and not sent here in time). Of all members: `taken`, and of these `sent` to this member's minions, `skipped` because they were too old, `repeated` (in the sequence twice, and sent once), `unstored` (not in this member's job cache, which refused too many), or `faults`.",
  ),
  saltworks_cluster_jobs_behind: metric("gauge", [], "Jobs in the cluster's sequence that this member has not taken."),
};

/** Only on a member of a cluster. */
export const clusterLeases = {
  saltworks_cluster_owner_questions_refused_total: metric(
    "counter",
    ["reason"],
    "Questions of other members about this member's jobs that were refused: `repeated`; `late`: on an operator's own NATS, the clocks differ, or it is an old one; `process`: meant for a former process of this member; `unmarked`: of an older release, on an operator's own NATS; `full`: too many at once; `unreadable`: messages that do not open, as under another `cluster_secret`.",
  ),
  saltworks_cluster_job_lease: metric(
    "gauge",
    [],
    "1 if this member may act for the batch jobs and waiting jobs that it owns. 0 without a majority.",
  ),
  saltworks_cluster_job_leases_total: metric(
    "counter",
    ["what"],
    "This member's lease: `renewed`; `unconfirmed`: renewals without an answer, or after another write; `lapsed`: times that it ended, after which other members may go on with this one's jobs.",
  ),
  saltworks_cluster_member_lease: metric(
    "gauge",
    ["member"],
    "1 while the member holds its lease, as this member sees it. Without a lease of its own a member has no figure for the others.",
  ),
  saltworks_cluster_member_jobs: metric(
    "gauge",
    ["member", "kind"],
    "Batch jobs (`batch`) and jobs that wait for absent minions (`waiting`) that the member owns. Each member has the figures of all.",
  ),
  saltworks_cluster_owned_jobs_total: metric(
    "counter",
    ["kind", "what"],
    "Batch jobs (`batch`) and jobs that wait for absent minions (`waiting`): `taken` over by this member, or taken up again; `lost` to another member; `broken`: batch jobs whose log cannot be copied here; `repaired`: of these, logs that are whole again; `given_up`: ones that stay as they are; `too_large`: waiting jobs that stay with this member because of their size; `put_back`: jobs that are over, whose records came back into the cluster, and that this member leaves alone.",
  ),
};
