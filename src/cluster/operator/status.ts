/**
 * The state of an operator's own NATS servers as a user without a system account sees it: in what the cluster's streams tell of the servers that keep them.
 */
import type { StreamInfo } from "@nats-io/jetstream";
import { clusterReplicaSilentMs } from "../../limits.ts";
import { type ClusterConnection, unavailable } from "../connection.ts";
import { clusterNames, streamNames } from "../names.ts";
import type { ClusterServer, ClusterStatus } from "../status.ts";
import { isStreamMissing } from "../stream-identity.ts";

const nanosecondsPerMs = 1_000_000;

type Peer = {
  readonly name: string;
  /** In the stream: false if it is down, cut off, or has no store. */
  readonly takesPart: boolean;
  readonly behind: number;
};
/** A stream, as its leader tells it. Undefined for one that has no leader, or does not answer. */
type Told = Pick<StreamInfo, "config" | "cluster" | "ts"> | undefined;

/** @throws SaltworksError CLUSTER_UNAVAILABLE if the servers do not answer */
export async function readStreamStatus(
  { nats, manager }: Pick<ClusterConnection, "nats" | "manager">,
  clusterId: string,
): Promise<ClusterStatus> {
  const asked = await Promise.allSettled(streamNames(clusterId).map((name) => manager.streams.info(name)));
  const failed = asked.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  const [fault] = failed.filter((reason) => !isStreamMissing(reason));
  if (failed.length === asked.length && fault !== undefined) throw unavailable("NATS", fault);
  const told = asked.flatMap((one): Told[] => {
    if (one.status === "fulfilled") return [one.value];
    return isStreamMissing(one.reason) ? [] : [undefined];
  });
  const { server_name: own, version } = nats.info ?? {};
  return streamStatusOf(told, clusterId, new Map(own === undefined || version === undefined ? [] : [[own, version]]));
}

/** @param versions of the servers that this client is connected to. Pure. */
export function streamStatusOf(
  told: readonly Told[],
  clusterId: string,
  versions: ReadonlyMap<string, string>,
): ClusterStatus {
  const streams = told.map((one) => (one === undefined ? [] : peersOf(one)));
  const { jobs } = clusterNames(clusterId);
  const leader = told.find((one) => one?.config.name === jobs)?.cluster?.leader;
  const byName = new Map<string, Peer[]>();
  for (const peer of streams.flat()) byName.set(peer.name, [...(byName.get(peer.name) ?? []), peer]);
  const servers = [...byName]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, all]): ClusterServer => {
      const takesPart = all.every((one) => one.takesPart);
      const behind = Math.max(...all.map((one) => one.behind));
      const state = { isLeader: name === leader, isAnswering: takesPart, isStoring: takesPart, behind };
      return { name, version: versions.get(name), ...state };
    });
  const hasMajority = (peers: readonly Peer[]) => 2 * peers.filter((one) => one.takesPart).length > peers.length;
  const hasQuorum = streams.length > 0 && streams.every(hasMajority);
  return { sees: "streams", hasQuorum, leaderless: [], serverCount: servers.length, servers };
}

/** None without a leader. */
function peersOf({ cluster, ts }: NonNullable<Told>): Peer[] {
  if (cluster?.leader === undefined || cluster.leader === "") return [];
  const leader = { name: cluster.leader, takesPart: true, behind: 0 };
  // By the server's clock. One before 2.12 does not tell since when it leads.
  const leadsMs = Date.parse(ts ?? "") - Date.parse(cluster.leader_since ?? "");
  const others = (cluster.replicas ?? []).map((replica) => ({
    ...{ name: replica.name, behind: replica.lag ?? 0 },
    // One that is killed is not told as offline for a while. One whose store is off looks the same.
    takesPart: replica.offline !== true && silenceMs(replica, leadsMs) < clusterReplicaSilentMs,
  }));
  return [leader, ...others];
}

/** How long the leader has heard nothing of a server. */
function silenceMs(
  { current, active }: { readonly current: boolean; readonly active: number },
  leadsMs: number,
): number {
  // The leader has not heard of it since it leads.
  if (!current && active === 0) return Number.isNaN(leadsMs) ? Number.POSITIVE_INFINITY : leadsMs;
  return active / nanosecondsPerMs;
}
