/** What `saltworks top` shows of a cluster: its servers as this member's own sees them, the owners of its jobs, and how far this member has read the streams. */
import type { Snapshot } from "./snapshot.ts";

export type ClusterServerView = {
  readonly server: string;
  readonly isAnswering: boolean;
  readonly isStoring: boolean;
  readonly isLeading: boolean;
  /** Records that it has not taken over; null while no leader is known. */
  readonly behind: number | null;
};

export type ClusterOwnerView = {
  readonly member: string;
  /** Null if this member cannot tell, because it has no lease itself. */
  readonly holdsLease: boolean | null;
  readonly batchJobs: number;
  readonly waitingJobs: number;
};

export type ClusterView = {
  readonly cluster: string;
  readonly member: string;
  readonly hasJoined: boolean;
  readonly hasQuorum: boolean;
  /** Streams that take no records, although more than half of the servers work together. */
  readonly streamsWithoutLeader: number;
  readonly servers: readonly ClusterServerView[];
  readonly owners: readonly ClusterOwnerView[];
  /** Of this member: messages of returns that it has not read, by stream, and jobs that it has not taken. */
  readonly returnsLag: readonly { readonly stream: string; readonly messages: number }[];
  readonly jobsLag: number;
};

/** Undefined for a master that is not a member. */
export function clusterViewOf(now: Snapshot): ClusterView | undefined {
  const [member] = now.valuesOf("saltworks_cluster_member", "member");
  const [cluster] = now.valuesOf("saltworks_cluster_member", "cluster");
  if (member === undefined || cluster === undefined) return undefined;
  const known = new Set(now.valuesOf("saltworks_cluster_server_behind", "server"));
  const is = (server: string, what: string) => now.sum("saltworks_cluster_server", { server, what }) === 1;
  const lagOf = (stream: string) => now.sum("saltworks_cluster_returns_lag", { stream });
  const leases = new Set(now.valuesOf("saltworks_cluster_member_lease", "member"));
  const jobsOf = (owner: string, kind: string) => now.sum("saltworks_cluster_member_jobs", { member: owner, kind });
  return {
    cluster,
    member,
    hasJoined: now.sum("saltworks_cluster_member") === 1,
    hasQuorum: now.sum("saltworks_cluster_quorum") === 1,
    streamsWithoutLeader: now.sum("saltworks_cluster_streams_without_leader"),
    servers: now.valuesOf("saltworks_cluster_server", "server").map((server) => ({
      server,
      isAnswering: is(server, "answering"),
      isStoring: is(server, "storing"),
      isLeading: is(server, "leading"),
      behind: known.has(server) ? now.sum("saltworks_cluster_server_behind", { server }) : null,
    })),
    owners: now.valuesOf("saltworks_cluster_member_jobs", "member").map((owner) => ({
      member: owner,
      holdsLease: leases.has(owner) ? now.sum("saltworks_cluster_member_lease", { member: owner }) === 1 : null,
      batchJobs: jobsOf(owner, "batch"),
      waitingJobs: jobsOf(owner, "waiting"),
    })),
    returnsLag: now
      .valuesOf("saltworks_cluster_returns_lag", "stream")
      .map((stream) => ({ stream, messages: lagOf(stream) })),
    jobsLag: now.sum("saltworks_cluster_jobs_behind"),
  };
}
