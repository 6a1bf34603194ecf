/** Asks this machine's own server of the cluster, as operators' commands and runners do. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { NatsConnection } from "@nats-io/nats-core";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { clusterStatusWaitMs } from "../../limits.ts";
import { connectCluster } from "../connection.ts";
import { compareMembers, type LikenessReport } from "../likeness/ask.ts";
import { type Member, type MemberConfig, memberOf } from "../member.ts";
import { type ClusterKeys, deriveKeys } from "../secret.ts";
import { accessTo } from "../server/access.ts";
import { clientPortIn } from "../server/configuration.ts";
import { serverFiles } from "../server/prepare.ts";
import { type ClusterStatus, readClusterStatus } from "../status.ts";

const connectionName = "saltworks cluster";

/** @throws SaltworksError FUNCTION_FAILED without `cluster_id`, CONFIG_INVALID */
export function ownMember(config: MemberConfig): Member {
  const member = memberOf(config, hostname());
  if (member !== undefined) return member;
  throw new SaltworksError("FUNCTION_FAILED", "this master is not a member of a cluster: cluster_id is not set");
}

/** @throws SaltworksError as `ownMember`, and CLUSTER_UNAVAILABLE if this machine's server cannot be asked */
export async function clusterStatus(config: MemberConfig): Promise<ClusterStatus & { readonly cluster: string }> {
  const member = ownMember(config);
  const keys = await deriveKeys(member.secret, member.clusterId);
  const status = await asked(member, keys, "system", readClusterStatus);
  return { cluster: member.clusterId, ...status };
}

/** @throws SaltworksError as `clusterStatus` */
export async function checkCluster(config: MemberConfig): Promise<LikenessReport> {
  const member = ownMember(config);
  const keys = await deriveKeys(member.secret, member.clusterId);
  const { servers } = await asked(member, keys, "system", readClusterStatus);
  const names = servers.map(({ name }) => name);
  const { clusterId, name: own } = member;
  return await asked(member, keys, "client", (nats) => compareMembers(nats, { clusterId, own, names }));
}

async function asked<Result>(
  member: Member,
  keys: ClusterKeys,
  user: "client" | "system",
  ask: (nats: NatsConnection) => Promise<Result>,
): Promise<Result> {
  const access = accessTo(ownPort(member), keys, user, connectionName);
  const connection = await connectCluster({ ...access, name: connectionName, waitMs: clusterStatusWaitMs });
  try {
    return await ask(connection.nats);
  } finally {
    await connection.close();
  }
}

function ownPort({ directory }: Member): number {
  const file = serverFiles(directory).configuration;
  try {
    return clientPortIn(readFileSync(file, "utf8"));
  } catch (cause) {
    if (!hasCodeIn(cause, "ENOENT", "EACCES")) throw cause;
    const why = hasCodeIn(cause, "ENOENT") ? "it has not been started" : "this user may not read its configuration";
    throw new SaltworksError("CLUSTER_UNAVAILABLE", `the cluster's own server: ${why} (${file})`, {}, { cause });
  }
}
