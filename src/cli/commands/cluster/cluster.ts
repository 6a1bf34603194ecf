/** `saltworks cluster`: makes a cluster, joins or leaves it, compares its members, and shows its servers. */
import { clusterStatus } from "../../../cluster/asking/own-server.ts";
import { clusterIdFault } from "../../../cluster/names.ts";
import { natsPermissions } from "../../../cluster/operator/permissions.ts";
import { newClusterSecret } from "../../../cluster/secret.ts";
import type { ClusterStatus } from "../../../cluster/status.ts";
import type { MasterConfig } from "../../../config/schema.ts";
import { hasCode, SaltworksError } from "../../../errors.ts";
import type { Host } from "../../host/host.ts";
import { clusterWords } from "../../options/own-options.ts";
import { understand } from "../../start/command-line.ts";
import { masterConfig } from "../../start/configuration.ts";
import { showCheck } from "./check.ts";
import { leaveCluster } from "./leave.ts";
import { initCluster, joinCluster } from "./setup.ts";

const exitCodes = { quorum: 0, noQuorum: 1, unasked: 2 } as const;

/** @returns the exit code */
export async function runCluster(argv: readonly string[], host: Host): Promise<number> {
  const { options, positionals } = understand("cluster", argv, host);
  const [word, ...more] = positionals;
  if (!isWord(word) || more.length > 0) {
    const given = word === undefined ? "nothing is asked for" : `there is no '${positionals.join(" ")}'`;
    throw new SaltworksError("USAGE", `${given}; give one of ${Object.keys(clusterWords).join(", ")}`);
  }
  const config = () => masterConfig(options.configDir, host);
  switch (word) {
    case "init":
      return await initCluster(options, host);
    case "join":
      return await joinCluster(options, host);
    case "leave":
      return await leaveCluster(config(), options, host);
    case "check":
      return await unlessUnasked(host, () => showCheck(config(), options.isJson, host));
    case "permissions":
      host.write(permissionsText(options.id));
      return 0;
    case "secret":
      host.write(`${newClusterSecret()}\n`);
      return 0;
    case "status":
      return await unlessUnasked(host, () => showStatus(config(), options.isJson, host));
    default: {
      const never: never = word;
      throw new SaltworksError("USAGE", `there is no '${String(never)}'`);
    }
  }
}

/** @throws SaltworksError USAGE for an id that no cluster can have */
function permissionsText(clusterId: string | undefined): string {
  const fault = clusterId === undefined ? "--id is missing: the cluster's name" : clusterIdFault(clusterId);
  if (clusterId === undefined || fault !== undefined) throw new SaltworksError("USAGE", `${fault}`);
  return `${JSON.stringify(natsPermissions(clusterId), undefined, 2)}\n`;
}

function isWord(word: string | undefined): word is keyof typeof clusterWords {
  return word !== undefined && Object.hasOwn(clusterWords, word);
}

/** @returns the exit code of `show`, or the one for a cluster that cannot be asked, after a message */
async function unlessUnasked(host: Host, show: () => Promise<number>): Promise<number> {
  try {
    return await show();
  } catch (error) {
    // A usage error keeps its own code. All others say that this machine is not a member, or cannot ask as one.
    if (!(error instanceof SaltworksError) || hasCode(error, "USAGE")) throw error;
    host.complain(`saltworks cluster: ${error.message}\n`);
    return exitCodes.unasked;
  }
}

async function showStatus(config: MasterConfig, isJson: boolean, host: Host): Promise<number> {
  const { cluster, ...status } = await clusterStatus(config);
  host.write(isJson ? `${JSON.stringify({ cluster, ...status }, undefined, 2)}\n` : statusText(cluster, status));
  return status.hasQuorum && status.leaderless.length === 0 ? exitCodes.quorum : exitCodes.noQuorum;
}

export function statusText(clusterId: string, status: ClusterStatus): string {
  const { sees, servers, serverCount } = status;
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
  return `Cluster ${clusterId}: ${answering} of ${serverCount} ${which} answer\n${lines.join("")}${closingOf(status)}\n`;
}

function closingOf({ sees, serverCount, hasQuorum, leaderless }: ClusterStatus): string {
  if (hasQuorum && leaderless.length > 0)
    return `The cluster does not take all changes: too few of the servers with a copy answer for ${leaderless.join(", ")}.`;
  if (hasQuorum) return "The cluster takes changes.";
  return sees === "streams" && serverCount === 0
    ? "The cluster takes no changes: it has no streams with a leader. The first member to start makes them."
    : "The cluster takes no changes: more than half of its servers must answer and agree on a leader.";
}
