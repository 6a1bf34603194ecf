/** Samples the metrics of a member of a cluster. It loads nothing of NATS. */
import type { Samples } from "../metrics/samples.ts";

type Server = {
  readonly name: string;
  readonly isAnswering: boolean;
  readonly isStoring: boolean;
  readonly isLeader: boolean;
  /** Undefined if the leader is not known. */
  readonly behind: number | undefined;
};

export type ClusterReport = {
  readonly cluster: string;
  readonly member: string;
  readonly hasJoined: boolean;
  readonly serverRestarts: number;
  /** Undefined if this member's server did not answer the latest look. */
  readonly status:
    | {
        readonly sees: "servers" | "streams";
        readonly hasQuorum: boolean;
        readonly leaderless: readonly string[];
        readonly serverCount: number;
        readonly servers: readonly Server[];
      }
    | undefined;
  readonly watch: Readonly<
    Record<"storesLost" | "storesMended" | "quorumsLost" | "leadersLost" | "unanswered", number>
  >;
  readonly secretsLost: number;
  /** Undefined until the cluster has answered, as the rest. */
  readonly aes: { readonly rotations: number; readonly followed: number; readonly conflicts: number } | undefined;
  readonly keys:
    | {
        readonly pending: number;
        readonly counters: Readonly<
          Record<"sent" | "applied" | "conflicts" | "ignored" | "putFailures" | "faults", number>
        >;
      }
    | undefined;
  readonly tokens: Readonly<Record<"sent" | "received" | "failed", number>> | undefined;
};

export function sampleCluster(samples: Samples, report: ClusterReport): void {
  const { cluster, member, status, watch, aes, keys } = report;
  samples.set("saltworks_cluster_member", { cluster, member }, report.hasJoined ? 1 : 0);
  const answering = (status?.servers ?? []).filter(({ isAnswering }) => isAnswering);
  const storing = answering.filter(({ isStoring }) => isStoring);
  samples.set("saltworks_cluster_servers", { state: "known" }, status?.serverCount ?? 0);
  samples.set("saltworks_cluster_servers", { state: "answering" }, answering.length);
  samples.set("saltworks_cluster_servers", { state: "storing" }, storing.length);
  for (const server of status?.servers ?? []) sampleServer(samples, server);
  samples.set("saltworks_cluster_quorum", {}, status?.hasQuorum === true ? 1 : 0);
  samples.set("saltworks_cluster_streams_without_leader", {}, status?.leaderless.length ?? 0);
  // With an operator's own NATS a member has no server. Its records are kept if the streams take them.
  const isKept = status?.sees === "streams" ? status.hasQuorum : storing.some(({ name }) => name === member);
  samples.set("saltworks_cluster_storing", {}, isKept ? 1 : 0);
  samples.set("saltworks_cluster_server_restarts_total", {}, report.serverRestarts);
  samples.set("saltworks_cluster_faults_total", { fault: "store_off" }, watch.storesLost);
  samples.set("saltworks_cluster_faults_total", { fault: "store_mended" }, watch.storesMended);
  samples.set("saltworks_cluster_faults_total", { fault: "quorum_lost" }, watch.quorumsLost);
  samples.set("saltworks_cluster_faults_total", { fault: "leader_lost" }, watch.leadersLost);
  samples.set("saltworks_cluster_faults_total", { fault: "unanswered" }, watch.unanswered);
  samples.set("saltworks_cluster_faults_total", { fault: "secrets_lost" }, report.secretsLost);
  samples.set("saltworks_cluster_keys_pending", {}, keys?.pending ?? 0);
  const outcomes = {
    sent: keys?.counters.sent,
    applied: keys?.counters.applied,
    conflict: keys?.counters.conflicts,
    put_failed: keys?.counters.putFailures,
    ignored: keys?.counters.ignored,
    fault: keys?.counters.faults,
  };
  for (const [outcome, count] of Object.entries(outcomes))
    samples.set("saltworks_cluster_keys_total", { outcome }, count ?? 0);
  for (const outcome of ["sent", "received", "failed"] as const)
    samples.set("saltworks_cluster_tokens_total", { outcome }, report.tokens?.[outcome] ?? 0);
  samples.set("saltworks_cluster_aes_rotations_total", { by: "own" }, aes?.rotations ?? 0);
  samples.set("saltworks_cluster_aes_rotations_total", { by: "other" }, aes?.followed ?? 0);
  samples.set("saltworks_cluster_aes_rotations_total", { by: "conflict" }, aes?.conflicts ?? 0);
}

function sampleServer(samples: Samples, { name: server, isAnswering, isStoring, isLeader, behind }: Server): void {
  const states = { answering: isAnswering, storing: isAnswering && isStoring, leading: isLeader };
  for (const [what, is] of Object.entries(states))
    samples.set("saltworks_cluster_server", { server, what }, is ? 1 : 0);
  if (behind !== undefined) samples.set("saltworks_cluster_server_behind", { server }, behind);
}
