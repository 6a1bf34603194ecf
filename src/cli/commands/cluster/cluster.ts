/** `saltworks cluster`: makes a cluster's secret, and shows its servers. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { connectCluster } from "../../../cluster/connection.ts";
import { memberOf } from "../../../cluster/member.ts";
import { deriveKeys, newClusterSecret } from "../../../cluster/secret.ts";
import { accessTo } from "../../../cluster/server/access.ts";
import { clientPortIn } from "../../../cluster/server/configuration.ts";
import { serverFiles } from "../../../cluster/server/prepare.ts";
import { type ClusterStatus, readClusterStatus } from "../../../cluster/status.ts";
import { hasCodeIn } from "../../../config/files/system-errors.ts";
import type { MasterConfig } from "../../../config/schema.ts";
import { hasCode, SaltworksError } from "../../../errors.ts";
import { clusterStatusWaitMs } from "../../../limits.ts";
import type { Host } from "../../host/host.ts";
import { clusterWords } from "../../options/own-options.ts";
import { understand } from "../../start/command-line.ts";
import { masterConfig } from "../../start/configuration.ts";

const exitCodes = { quorum: 0, noQuorum: 1, unasked: 2 } as const;

/** @returns the exit code */
export async function runCluster(argv: readonly string[], host: Host): Promise<number> {
  const { options, positionals } = understand("cluster", argv, host);
  const [word, ...more] = positionals;
  if (word === undefined || !Object.hasOwn(clusterWords, word) || more.length > 0) {
    const given = word === undefined ? "nothing is asked for" : `there is no '${positionals.join(" ")}'`;
    throw new SaltworksError("USAGE", `${given}; give one of ${Object.keys(clusterWords).join(", ")}`);
  }
  if (word === "secret") {
    host.write(`${newClusterSecret()}\n`);
    return 0;
  }
  return await showStatus(masterConfig(options.configDir, host), options.isJson, host);
}

async function showStatus(config: MasterConfig, isJson: boolean, host: Host): Promise<number> {
  const member = memberOf(config, hostname());
  if (member === undefined)
    throw new SaltworksError("USAGE", "this master is not a member of a cluster: cluster_id is not set");
  let status: ClusterStatus;
  try {
    const keys = await deriveKeys(member.secret, member.clusterId);
    const port = clientPortIn(readFileSync(serverFiles(member.directory).configuration, "utf8"));
    const name = "saltworks cluster";
    const access = accessTo(port, keys, "system", name);
    const connection = await connectCluster({ ...access, name, waitMs: clusterStatusWaitMs });
    try {
      status = await readClusterStatus(connection.nats);
    } finally {
      await connection.close();
    }
  } catch (error) {
    if (!hasCode(error, "CLUSTER_UNAVAILABLE") && !hasCodeIn(error, "ENOENT") && !hasCodeIn(error, "EACCES"))
      throw error;
    host.complain(`saltworks cluster: ${(error as Error).message}\n`);
    return exitCodes.unasked;
  }
  host.write(
    isJson
      ? `${JSON.stringify({ cluster: member.clusterId, ...status }, undefined, 2)}\n`
      : textOf(member.clusterId, status),
  );
  return status.hasQuorum ? exitCodes.quorum : exitCodes.noQuorum;
}

function textOf(clusterId: string, { servers, serverCount, hasQuorum }: ClusterStatus): string {
  const width = Math.max(...servers.map(({ name }) => name.length));
  const lines = servers.map(({ name, version, isLeader, isAnswering, isStoring, behind }) => {
    const store = isStoring ? "" : ", KEEPS NO RECORDS (is its disk full?)";
    const state = isAnswering ? `answers, nats-server ${version}${store}` : "DOES NOT ANSWER";
    const lag = behind === undefined || behind === 0 ? "" : `, ${behind.toLocaleString("en-US")} records behind`;
    return `  ${name.padEnd(width)}  ${state}${isLeader ? ", leads" : ""}${lag}\n`;
  });
  const answering = servers.filter(({ isAnswering }) => isAnswering).length;
  const closing = hasQuorum
    ? "The cluster takes changes."
    : "The cluster takes no changes: more than half of its servers must answer and agree on a leader.";
  return `Cluster ${clusterId}: ${answering} of ${serverCount} servers answer\n${lines.join("")}${closing}\n`;
}
