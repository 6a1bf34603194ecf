/** `saltworks cluster status`: shows the cluster's servers, whether they take changes, and which member owns how many jobs. */
import { type ClusterReport, clusterStatus } from "../../../cluster/asking/own-server.ts";
import type { ClusterStatus } from "../../../cluster/status.ts";
import type { MasterConfig } from "../../../config/schema.ts";
import type { Host } from "../../host/host.ts";

const exitCodes = { quorum: 0, noQuorum: 1 } as const;

/** @returns the exit code. @throws SaltworksError CLUSTER_UNAVAILABLE if no server can be asked */
export async function showStatus(config: MasterConfig, isJson: boolean, host: Host): Promise<number> {
  const report = await clusterStatus(config);
  host.write(isJson ? `${JSON.stringify(report, undefined, 2)}\n` : statusText(report));
  return report.hasQuorum && report.leaderless.length === 0 ? exitCodes.quorum : exitCodes.noQuorum;
}

export function statusText(report: ClusterReport): string {
  const { cluster, sees, servers, serverCount, owners } = report;
  const width = Math.max(0, ...servers.map(({ name }) => name.length));
  const lines = servers.map(({ name, version, isLeader, isAnswering, isStoring, behind }) => {
    const store = isStoring ? "" : ", KEEPS NO RECORDS (is its disk full?)";
    const program = version === undefined ? "" : `, nats-server ${version}`;
    const silent = sees === "servers" ? "DOES NOT ANSWER" : "TAKES NO PART (is it down, cut off, or its disk full?)";
    const state = isAnswering ? `answers${program}${store}` : silent;
    const lag = behind === undefined || behind === 0 ? "" : `, ${behind.toLocaleString("en-US")} records behind`;
    return `  ${name.padEnd(width)}  ${state}${isLeader ? ", leads" : ""}${lag}\n`;
  });
  const answering = servers.filter(({ isAnswering }) => isAnswering).length;
  const which = sees === "streams" ? "servers of cluster_nats_servers that keep its streams" : "servers";
  const heading = `Cluster ${cluster}: ${answering} of ${serverCount} ${which} answer\n`;
  return `${heading}${lines.join("")}${ownersText(owners)}${closingOf(report)}\n`;
}

/** A member without a lease does not go on with its jobs, which another one takes over. */
function ownersText(owners: ClusterReport["owners"]): string {
  if (owners === null) return "No member says who owns batch jobs and waiting jobs.\n";
  const width = Math.max(0, ...owners.map(({ member }) => member.length));
  const lines = owners.map(({ member, holdsLease, batchJobs, waitingJobs }) => {
    const lease = holdsLease === false ? ", HAS NO LEASE" : "";
    return `  ${member.padEnd(width)}  ${counted(batchJobs, "batch job")}, ${counted(waitingJobs, "waiting job")}${lease}\n`;
  });
  return `Owners of jobs:\n${lines.join("")}`;
}

function counted(count: number, what: string): string {
  return `${count.toLocaleString("en-US")} ${what}${count === 1 ? "" : "s"}`;
}

function closingOf({ sees, serverCount, hasQuorum, leaderless }: ClusterStatus): string {
  if (hasQuorum && leaderless.length > 0)
    return `The cluster does not take all changes: too few of the servers with a copy answer for ${leaderless.join(", ")}.`;
  if (hasQuorum) return "The cluster takes changes.";
  return sees === "streams" && serverCount === 0
    ? "The cluster takes no changes: it has no streams with a leader. The first member to start makes them."
    : "The cluster takes no changes: more than half of its servers must answer and agree on a leader.";
}
