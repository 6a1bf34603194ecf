/** Starts the `nats-server` of a member or witness of a cluster, and watches it. */
import { hostname } from "node:os";
import type { Logger } from "pino";
import { type MemberConfig, memberOf } from "../../cluster/member.ts";
import { deriveKeys } from "../../cluster/secret.ts";
import { accessTo } from "../../cluster/server/access.ts";
import { prepareServer } from "../../cluster/server/prepare.ts";
import { findNatsServer } from "../../cluster/server/program.ts";
import type { MasterConfig } from "../../config/load.ts";
import type { ClusterStart } from "../../master/cluster/cluster.ts";
import { checkClusterPort } from "../../master/ports/port-check.ts";
import { endingWithParent, WatchedProgram } from "./watched-program.ts";

/**
 * Undefined without `cluster_id`.
 *
 * @throws SaltworksError CONFIG_INVALID, PACKAGE_MISSING without a `nats-server`, CLUSTER_UNAVAILABLE if a former server does not end, MASTER_RUNNING or
 * PORT_UNUSABLE for `cluster_pool_port`
 */
export async function startClusterServer(
  config: MemberConfig & Pick<MasterConfig, "cluster_nats_server">,
  log: Logger,
): Promise<ClusterStart | undefined> {
  const member = memberOf(config, hostname());
  if (member === undefined) return undefined;
  const option = config.cluster_nats_server ?? undefined;
  const { program: command, version } = await findNatsServer({ option, environment: process.env });
  const keys = await deriveKeys(member.secret, member.clusterId);
  const { configurationFile, clientPort, logFile } = await prepareServer(member, keys, Date.now());
  await checkClusterPort(config);
  log.info({ command, version, member: member.name, log: logFile }, "starts the cluster's server");
  const ending = await endingWithParent(command, ["-c", configurationFile]);
  const program = new WatchedProgram({ name: "nats-server", ...ending, log, hasOwnSession: true });
  program.start();
  const access = accessTo(clientPort, keys, "client", member.name);
  return { member, keys, access, restarts: () => program.restarts, stop: () => program.stop() };
}
