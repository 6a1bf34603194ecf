/** Starts the `nats-server` of a member or witness of a cluster, and watches it; or checks an operator's own servers, which take its place. */
import { mkdirSync } from "node:fs";
import { hostname } from "node:os";
import type { Logger } from "pino";
import type { OwnServerAccess } from "../../cluster/connection.ts";
import { type Member, type MemberConfig, memberOf } from "../../cluster/member.ts";
import { checkOperatorNats } from "../../cluster/operator/check.ts";
import { operatorServers } from "../../cluster/operator/servers.ts";
import type { OperatorNats } from "../../cluster/operator-nats.ts";
import { deriveKeys } from "../../cluster/secret.ts";
import { accessTo } from "../../cluster/server/access.ts";
import { prepareServer, serverFiles } from "../../cluster/server/prepare.ts";
import { findNatsServer } from "../../cluster/server/program.ts";
import { StoreAgain } from "../../cluster/server/store-again.ts";
import { watchedOwnServers } from "../../cluster/server/watched.ts";
import type { MasterConfig } from "../../config/load.ts";
import { hasCode } from "../../errors.ts";
import type { ClusterStart } from "../../master/cluster/cluster.ts";
import { checkClusterPort } from "../../master/ports/port-check.ts";
import { serverMemory } from "./server-memory.ts";
import { boundedInMemory, type Command, endingWithParent, WatchedProgram } from "./watched-program.ts";

const directoryMode = 0o700;

type ServerConfig = MemberConfig & Pick<MasterConfig, "cluster_nats_server">;

/**
 * Undefined without `cluster_id`.
 *
 * @throws SaltworksError as `startOwnServer`, CLUSTER_REFUSED if an operator's servers do not fit
 */
export async function startClusterServer(config: ServerConfig, log: Logger): Promise<ClusterStart | undefined> {
  const member = memberOf(config, hostname());
  if (member === undefined) return undefined;
  const { operatorNats } = member;
  return operatorNats === undefined
    ? await startOwnServer(config, member, log)
    : await useOperatorNats(member, operatorNats, log);
}

/**
 * @throws SaltworksError CONFIG_INVALID, PACKAGE_MISSING without a `nats-server`, CLUSTER_UNAVAILABLE if a former server does not end, MASTER_RUNNING or
 * PORT_UNUSABLE for `cluster_pool_port`
 */
export async function startOwnServer(
  config: ServerConfig,
  member: Member,
  log: Logger,
): Promise<ClusterStart & { readonly access: OwnServerAccess }> {
  const option = config.cluster_nats_server ?? undefined;
  const { program: command, version } = await findNatsServer({ option, environment: process.env });
  const keys = await deriveKeys(member.secret, member.clusterId);
  const { configurationFile, clientPorts, logFile, takeFreePort } = await prepareServer(member, keys, Date.now());
  await checkClusterPort(config);
  log.info({ command, version, member: member.name, log: logFile }, "starts the cluster's server");
  const { bytesMax, environment } = serverMemory();
  const bounded = await watchedServer({ command, args: ["-c", configurationFile] }, bytesMax, log);
  const beforeStart = async () => {
    const port = await takeFreePort();
    if (port !== undefined)
      log.warn({ port }, "another program has the port of the cluster's server, which takes another");
  };
  const options = { name: "nats-server", log, hasOwnSession: true, beforeStart, environment };
  const program = new WatchedProgram({ ...options, ...bounded });
  program.start();
  const access = accessTo(clientPorts, keys, "client", member.name);
  const store = new StoreAgain({
    directory: serverFiles(member.directory).store,
    endServer: () => void program.endOnce(),
  });
  const watched = watchedOwnServers(clientPorts, keys, member.name, store);
  return { member, keys, access, watched, restarts: () => program.restarts, stop: () => program.stop() };
}

/** The server with a bound of its memory. With a full disk it may list millions of lost jobs that never were, and take all memory of the machine. */
async function watchedServer(server: Command, bytesMax: number, log: Logger): Promise<Command> {
  const bounded = await boundedInMemory(server, bytesMax);
  if (bounded === undefined)
    log.warn({ bytesMax }, "`prlimit` of util-linux is missing or fails: it does not bound the memory of nats-server");
  const { command, args } = bounded ?? server;
  return endingWithParent(command, args);
}

/** Goes on if the servers cannot be reached now: a member that has joined before starts without them, and another one waits for them. */
async function useOperatorNats(member: Member, operatorNats: OperatorNats, log: Logger): Promise<ClusterStart> {
  const { clusterId, name, directory } = member;
  const keys = await deriveKeys(member.secret, clusterId);
  const watched = operatorServers(operatorNats, clusterId, keys.sealKey);
  const { access } = watched;
  mkdirSync(directory, { recursive: true, mode: directoryMode });
  log.info({ servers: operatorNats.servers, member: name }, "uses the NATS servers of cluster_nats_servers");
  try {
    const { silent } = await checkOperatorNats({ access, clusterId, name });
    if (silent.length > 0) log.warn({ silent }, "NATS servers do not answer");
  } catch (error) {
    if (!hasCode(error, "CLUSTER_UNAVAILABLE")) throw error;
    log.warn({ err: error }, "the NATS servers take no changes now");
  }
  return { member, keys, access, watched, restarts: () => 0, stop: async () => undefined };
}
