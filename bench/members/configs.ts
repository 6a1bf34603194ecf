/** Configurations of members of one cluster that run on this machine. */
import { newClusterSecret } from "../../src/cluster/secret.ts";
import { freePorts } from "../free-ports.ts";

type Config = Readonly<Record<string, unknown>>;

/** @returns the configuration of each member */
export async function memberConfigs(
  count: number,
  config: Config,
  secret = newClusterSecret(),
  clusterId = "test",
): Promise<Config[]> {
  const ports = await freePorts(count);
  const peer = (port: number | undefined) => `127.0.0.1:${port}`;
  return ports.map((port, at) => ({
    id: `member${at + 1}`,
    cluster_id: clusterId,
    cluster_secret: secret,
    cluster_pool_port: port,
    cluster_peers: ports.filter((other) => other !== port).map(peer),
    worker_threads: 1,
    log_level: "info",
    ...config,
  }));
}
