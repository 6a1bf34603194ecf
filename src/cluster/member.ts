/** What the configuration says of this member and of its peers, checked. */
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { hasCodeIn } from "../config/files/system-errors.ts";
import type { MasterConfig } from "../config/load.ts";
import { SaltworksError } from "../errors.ts";
import { clusterReplicasMax } from "../limits.ts";
import { clusterIdFault } from "./names.ts";
import { type OperatorNats, type OperatorNatsConfig, operatorNatsOf } from "./operator-nats.ts";

export type MemberConfig = OperatorNatsConfig &
  Pick<MasterConfig, "cachedir" | "cluster_id" | "cluster_secret" | "cluster_secret_file" | "id" | "interface">;

export type Member = {
  readonly clusterId: string;
  /** Unique in the cluster: the master's `id`. */
  readonly name: string;
  readonly secret: string;
  /** Servers that keep a copy of each record. */
  readonly replicas: number;
  /** An operator's own servers. Undefined: the member starts one, and the following is about it. */
  readonly operatorNats: OperatorNats | undefined;
  /** Where the member's server listens for the other servers. */
  readonly poolHost: string;
  readonly poolPort: number;
  /** `HOST:PORT` of the other servers; none with an operator's own. */
  readonly peers: readonly string[];
  /**
   * Names and addresses for the member's certificate, its own first. The peers' are among them, because a server that was reached by its address is
   * compared with the first name among the routes. The secret allows any name.
   */
  readonly hosts: readonly string[];
  /** The server's own directory, in which the member keeps its places in the records, too. */
  readonly directory: string;
};

/** For a user that may not read what only the master's user can. */
export const readerAdvice = "run the command as root or as the master's user";

const anyAddresses: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);
export const isAnyAddress = (address: string): boolean => anyAddresses.has(address);

/** A server's name in NATS has no spaces. */
const nameForm = /^\S{1,255}$/;
const peerForm = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/@]+))(?::(\d{1,5}))?$/;

/** `HOST`, `HOST:PORT` or `[IPv6]:PORT`. @returns undefined for another form */
function readPeer(entry: unknown, defaultPort: number): string | undefined {
  if (typeof entry !== "string") return undefined;
  const [, ipv6, host, port = String(defaultPort)] = peerForm.exec(entry) ?? [];
  if (Number(port) < 1 || Number(port) > 65_535) return undefined;
  if (ipv6 !== undefined) return `[${ipv6}]:${port}`;
  return host === undefined ? undefined : `${host}:${port}`;
}

function ownHosts(config: MemberConfig, hostName: string): string[] {
  const addresses = isAnyAddress(config.interface)
    ? Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
    : [config.interface];
  return [...addresses, hostName].filter((host) => host !== "");
}

/** Without port and brackets. */
function hostOf(peer: string): string {
  return peer.slice(0, peer.lastIndexOf(":")).replace(/^\[|\]$/g, "");
}

/** @throws SaltworksError CONFIG_INVALID for a file that cannot be read, and for two secrets */
function secretOf({ cluster_secret: text, cluster_secret_file: file }: MemberConfig): string {
  const given = text ?? "";
  if (file === null || file === "") return given;
  if (given !== "")
    throw new SaltworksError("CONFIG_INVALID", "cluster_secret and cluster_secret_file are both set: one is enough");
  try {
    return readFileSync(file, "utf8").trim();
  } catch (cause) {
    const advice = hasCodeIn(cause, "EACCES") ? `; ${readerAdvice}` : "";
    const why = `cluster_secret_file: ${file} cannot be read: ${(cause as Error).message}${advice}`;
    throw new SaltworksError("CONFIG_INVALID", why, {}, { cause });
  }
}

/**
 * @returns undefined without `cluster_id`
 * @throws SaltworksError CONFIG_INVALID that names the option
 */
export function memberOf(config: MemberConfig, hostName: string): Member | undefined {
  const { cluster_id: clusterId, id } = config;
  if (clusterId === null || clusterId === "") return undefined;
  const refuse = (why: string): never => {
    throw new SaltworksError("CONFIG_INVALID", why);
  };
  const idFault = clusterIdFault(clusterId);
  if (idFault !== undefined) return refuse(idFault);
  const secret = secretOf(config);
  if (secret === "")
    return refuse("cluster_secret is missing: `saltworks cluster secret` makes one, and each member needs the same");
  if (!nameForm.test(id))
    return refuse(`id names this member of the cluster, so ${JSON.stringify(id)} may have no spaces`);
  const peers = config.cluster_peers.map((entry) => {
    const peer = readPeer(entry, config.cluster_pool_port);
    return peer ?? refuse(`cluster_peers: ${JSON.stringify(entry)} is not HOST or HOST:PORT`);
  });
  const operatorNats = operatorNatsOf(config);
  if (operatorNats === undefined && peers.length < 2)
    return refuse("cluster_peers must name at least two others: members or witnesses (docs/cluster.md)");
  const servers = operatorNats === undefined ? peers.length + 1 : clusterReplicasMax;
  return {
    ...{ clusterId, secret, peers, operatorNats, replicas: Math.min(clusterReplicasMax, servers) },
    name: id,
    poolHost: config.interface,
    poolPort: config.cluster_pool_port,
    hosts: [...new Set([...ownHosts(config, hostName), ...peers.map(hostOf)])],
    directory: join(config.cachedir, "cluster"),
  };
}
