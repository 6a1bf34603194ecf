/** Asks this machine's own server of the cluster, or an operator's, as operators' commands and runners do. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { NatsConnection } from "@nats-io/nats-core";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { clusterStatusWaitMs } from "../../limits.ts";
import { type ClusterConnection, connectCluster } from "../connection.ts";
import { askOwners, compareMembers, type LikenessReport } from "../likeness/ask.ts";
import type { JobOwner } from "../likeness/message.ts";
import { type Member, type MemberConfig, memberOf, readerAdvice } from "../member.ts";
import { operatorServers } from "../operator/servers.ts";
import { readStreamStatus } from "../operator/status.ts";
import { heardMembers } from "../presence/heard.ts";
import { type ClusterKeys, deriveKeys } from "../secret.ts";
import { accessTo } from "../server/access.ts";
import { clientPortIn } from "../server/configuration.ts";
import { serverFiles } from "../server/prepare.ts";
import { type ClusterServer, type ClusterStatus, readClusterStatus } from "../status.ts";

const connectionName = "saltworks cluster";

/** @throws SaltworksError FUNCTION_FAILED without `cluster_id`, CONFIG_INVALID */
export function ownMember(config: MemberConfig): Member {
  const member = memberOf(config, hostname());
  if (member !== undefined) return member;
  throw new SaltworksError(
    "FUNCTION_FAILED",
    "this master is not a member of a cluster: cluster_id is not set; `saltworks cluster init` or `join` makes it one",
  );
}

export type ClusterReport = ClusterStatus & {
  readonly cluster: string;
  /** Null if no member answers, or each is of a release that does not tell. */
  readonly owners: readonly JobOwner[] | null;
};

/** @throws SaltworksError as `ownMember`, and CLUSTER_UNAVAILABLE if no server can be asked */
export async function clusterStatus(config: MemberConfig): Promise<ClusterReport> {
  const member = ownMember(config);
  const keys = await deriveKeys(member.secret, member.clusterId);
  const status = await statusOf(member, keys);
  return { cluster: member.clusterId, ...status, owners: await ownersOf(member, keys, status) };
}

/** @throws SaltworksError as `clusterStatus` */
export async function checkCluster(config: MemberConfig): Promise<LikenessReport> {
  const member = ownMember(config);
  const keys = await deriveKeys(member.secret, member.clusterId);
  const { clusterId, name: own, operatorNats } = member;
  const servers = operatorNats === undefined ? (await statusOf(member, keys)).servers : [];
  return await asked(member, keys, "client", async ({ nats }) =>
    compareMembers(nats, { clusterId, own, names: await memberNames(nats, member, servers) }),
  );
}

/** The servers are known already, so that without this answer the rest is shown. */
async function ownersOf(
  member: Member,
  keys: ClusterKeys,
  { servers }: ClusterStatus,
): Promise<readonly JobOwner[] | null> {
  const { clusterId } = member;
  try {
    return await asked(member, keys, "client", async ({ nats }) =>
      askOwners(nats, { clusterId, names: await memberNames(nats, member, servers) }),
    );
  } catch (error) {
    if (hasCode(error, "CLUSTER_UNAVAILABLE")) return null;
    throw error;
  }
}

/** On an operator's own NATS a member has no server, and tells the others each second that it is there. */
async function memberNames(
  nats: NatsConnection,
  { clusterId, name, operatorNats }: Member,
  servers: readonly ClusterServer[],
): Promise<string[]> {
  if (operatorNats === undefined) return servers.map((server) => server.name);
  return [...(await heardMembers(nats, clusterId)).add(name)].sort();
}

async function statusOf(member: Member, keys: ClusterKeys): Promise<ClusterStatus> {
  const { clusterId, operatorNats } = member;
  return await asked(member, keys, "system", async (connection) =>
    operatorNats === undefined
      ? await readClusterStatus(connection.nats)
      : await readStreamStatus(connection, clusterId),
  );
}

async function asked<Result>(
  member: Member,
  keys: ClusterKeys,
  user: "client" | "system",
  ask: (connection: ClusterConnection) => Promise<Result>,
): Promise<Result> {
  const { operatorNats, clusterId } = member;
  const access =
    operatorNats === undefined
      ? accessTo([ownPort(member)], keys, user, connectionName)
      : operatorServers(operatorNats, clusterId, keys.sealKey).access;
  try {
    const connection = await connectCluster({ ...access, name: connectionName, waitMs: clusterStatusWaitMs });
    try {
      return await ask(connection);
    } finally {
      await connection.close();
    }
  } catch (cause) {
    if (operatorNats !== undefined || !hasCode(cause, "CLUSTER_UNAVAILABLE")) throw cause;
    const why = `${(cause as SaltworksError).message}; does the master or witness run?`;
    throw new SaltworksError("CLUSTER_UNAVAILABLE", why, {}, { cause });
  }
}

function ownPort({ directory }: Member): number {
  const file = serverFiles(directory).configuration;
  try {
    return clientPortIn(readFileSync(file, "utf8"));
  } catch (cause) {
    if (!hasCodeIn(cause, "ENOENT", "EACCES")) throw cause;
    const why = hasCodeIn(cause, "ENOENT")
      ? `it has not been started (${file}): start \`saltworks master\` or \`saltworks witness\` on this machine`
      : `this user may not read its configuration (${file}); ${readerAdvice}`;
    throw new SaltworksError("CLUSTER_UNAVAILABLE", `this member's own NATS server: ${why}`, {}, { cause });
  }
}
