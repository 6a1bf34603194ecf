/** `saltworks cluster init` and `join`: write the configuration that makes this master a member of a cluster. */
import { hostname, networkInterfaces } from "node:os";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isAnyAddress, type Member, memberOf } from "../../../cluster/member.ts";
import { acceptedCount } from "../../../cluster/membership/alone.ts";
import {
  demandNoOwnFiles,
  type OwnFile,
  ownFilePath,
  removeOwnFiles,
  secretFilePath,
  writeOwnFiles,
} from "../../../cluster/membership/own-file.ts";
import { type Probed, probePeer } from "../../../cluster/membership/probe.ts";
import { type ClusterKeys, deriveKeys, newClusterSecret } from "../../../cluster/secret.ts";
import { clusterOptions } from "../../../config/options/cluster.ts";
import type { MasterConfig } from "../../../config/schema.ts";
import { SaltworksError } from "../../../errors.ts";
import { Exit, interruptedExitCode } from "../../host/exit.ts";
import type { Host } from "../../host/host.ts";
import { ownerUid } from "../../input/process-user.ts";
import { masterConfig } from "../../start/configuration.ts";
import { checkNats, type NatsFlags, natsArguments, natsSettings } from "./setup-nats.ts";

export type SetupOptions = NatsFlags & {
  readonly id: string | undefined;
  readonly peers: string | undefined;
  readonly configDir: string | undefined;
};

/** Servers whose majority is clear: three or five. */
const peerCounts: readonly number[] = [2, 4];

/** @returns the exit code */
export async function initCluster(options: SetupOptions, host: Host): Promise<number> {
  const { config, given } = freeMaster(options, host);
  const secret = newClusterSecret();
  const member = asMember(config, { ...given, secret });
  const { operatorNats, clusterId } = member;
  const checked =
    operatorNats === undefined
      ? ""
      : await checkNats(member, operatorNats, await deriveKeys(secret, clusterId), true, host);
  const file = await writeMembership(config, { ...given, secret }, options, host);
  const joins =
    operatorNats === undefined
      ? joinsOfPeers(member)
      : `  saltworks cluster join --id ${clusterId} ${natsArguments(options)}\n`;
  const witness = operatorNats === undefined ? ", or `saltworks witness` on a server without a master" : "";
  host.write(
    `${checked}Wrote ${file}.\n` +
      `Start this master first, if it has minions: the first to come gives the cluster its key pair.\n` +
      `Each of the others joins by:\n${joins}` +
      `There the command asks for the secret, which is in ${secretFilePath(config.configDir)}.\n` +
      `Then start \`saltworks master\` on each${witness}.\n`,
  );
  return 0;
}

/** What to run on each of the others. The reader takes its own port for a peer without one, so that ports are left out only if all are the usual one. */
function joinsOfPeers(member: Member): string {
  const self = addressOf(member);
  const isUsual = [self, ...member.peers].every((one) => shortPeer(one) !== one);
  const shown = (peer: string) => (isUsual ? shortPeer(peer) : peer);
  const joins = member.peers.map((peer) => {
    const others = [self, ...member.peers.filter((other) => other !== peer)].map(shown);
    return `  on ${shown(peer)}:\n    saltworks cluster join --id ${member.clusterId} --peers ${others.join(",")}\n`;
  });
  return joins.join("");
}

/** @returns the exit code */
export async function joinCluster(options: SetupOptions, host: Host): Promise<number> {
  const { config, given } = freeMaster(options, host);
  // Checked before the secret is asked for.
  asMember(config, { ...given, secret: newClusterSecret() });
  const secret = (await host.readSecret(host.isInputTerminal ? "cluster_secret: " : ""))?.trim();
  if (secret === undefined || secret === "")
    throw usage("no secret is given: it is in cluster.secret beside the other members' configuration");
  const member = asMember(config, { ...given, secret });
  const keys = await deriveKeys(secret, member.clusterId);
  const { operatorNats } = member;
  const checked =
    operatorNats === undefined
      ? await checkSecret(member, keys, host)
      : await checkNats(member, operatorNats, keys, false, host);
  const file = await writeMembership(config, { ...given, secret }, options, host);
  const trusted = acceptedCount(config.pki_dir);
  const advice =
    trusted === 0
      ? ""
      : `This master has ${trusted} accepted keys. Their minions trust its present key pair, and it cannot join a cluster with another one: docs/cluster.md, "A master that has minions already".\n`;
  host.write(
    `${checked}Wrote ${file}.\n${advice}Start the master, or start it again: it takes the cluster's key pair and its minions' keys.\n`,
  );
  return 0;
}

type Given = Omit<OwnFile, "secret">;

/** The configuration of a master that is not a member, and what the operator gave, as far as it can be checked alone. @throws SaltworksError USAGE */
function freeMaster(options: SetupOptions, host: Host): { readonly config: MasterConfig; readonly given: Given } {
  const config = masterConfig(options.configDir, host);
  if (config.cluster_id !== null && config.cluster_id !== "")
    throw new SaltworksError(
      "CLUSTER_REFUSED",
      `this master is a member of the cluster ${config.cluster_id} already; \`saltworks cluster leave\` ends that`,
    );
  demandNoOwnFiles(config.configDir);
  const { id: clusterId = "", peers: written = "" } = options;
  if (clusterId === "") throw usage("--id is missing: the cluster's name, the same on each member");
  const peers = written.split(",").flatMap((peer) => (peer.trim() === "" ? [] : [peer.trim()]));
  const nats = natsSettings(options);
  if (nats !== undefined && peers.length > 0)
    throw usage("--peers and --nats-servers are both given: with an operator's own NATS a master starts no server");
  if (nats !== undefined) return { config, given: { clusterId, servers: nats } };
  if (!peerCounts.includes(peers.length))
    throw usage(
      `--peers must name the two or four others, so that the cluster has three or five servers, and names ${peers.length}`,
    );
  return { config, given: { clusterId, servers: { cluster_peers: peers } } };
}

/** @throws SaltworksError CONFIG_INVALID for the id or a peer, USAGE if a peer is this master or stands twice */
function asMember(config: MasterConfig, { clusterId, servers, secret }: OwnFile): Member {
  const wished = { ...config, cluster_id: clusterId, cluster_secret: secret, cluster_secret_file: "", ...servers };
  const member = memberOf(wished, hostname());
  if (member === undefined) throw usage("--id is missing");
  if (member.operatorNats !== undefined) return member;
  const addresses = new Set([...ownAddresses(member), hostname()].map((host) => `${host}:${member.poolPort}`));
  const self = member.peers.find((peer) => addresses.has(peer.replace(/^\[(.*)\]:/, "$1:")));
  if (self !== undefined) throw usage(`--peers names this master itself, ${shortPeer(self)}: name the others only`);
  const hostOnly = member.peers.map((peer) => peer.slice(0, peer.lastIndexOf(":")));
  if (hostOnly.includes(config.id))
    throw usage(`the id of this master, ${config.id}, is a peer's: each member needs an id of its own`);
  if (new Set(member.peers).size < member.peers.length) throw usage("--peers names a server twice");
  return member;
}

function usage(why: string): SaltworksError {
  return new SaltworksError("USAGE", why);
}

function ownAddresses({ poolHost }: Member): string[] {
  if (!isAnyAddress(poolHost)) return [poolHost];
  return Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
}

/** Where the others reach this member, as far as it can be known. */
function addressOf(member: Member): string {
  const at = (host: string) => (host.includes(":") ? `[${host}]` : host);
  if (!isAnyAddress(member.poolHost)) return `${at(member.poolHost)}:${member.poolPort}`;
  const outer = Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).flatMap(({ address, internal, family }) => (internal || family !== "IPv4" ? [] : [address])),
  );
  const [only, ...more] = outer;
  return `${only === undefined || more.length > 0 ? hostname() : only}:${member.poolPort}`;
}

/** Without the usual port. */
function shortPeer(peer: string): string {
  const usual = `:${clusterOptions.cluster_pool_port.default}`;
  return peer.endsWith(usual) ? peer.slice(0, -usual.length) : peer;
}

/**
 * Writes the file, and reads the configuration again as a master's start would. Ctrl-C waits until all is written, and undoes it.
 *
 * @returns the file's path
 * @throws Exit after Ctrl-C
 */
async function writeMembership(
  config: MasterConfig,
  given: OwnFile,
  options: SetupOptions,
  host: Host,
): Promise<string> {
  const path = ownFilePath(config.configDir);
  const uid = await ownerUid(config.user);
  let isWritten = false;
  let isKept = false;
  let isInterrupted = false;
  const forgetInterrupt = host.onInterrupt(() => {
    isInterrupted = true;
  });
  try {
    writeOwnFiles(config.configDir, given, uid);
    isWritten = true;
    const read = masterConfig(options.configDir, host);
    isKept = memberOf(read, hostname())?.secret === given.secret && read.cluster_id === given.clusterId;
    // In the next turn of the event loop a signal that came meanwhile is heard.
    await nextTurn();
    if (isInterrupted) throw new Exit(interruptedExitCode);
  } finally {
    forgetInterrupt();
    if (isWritten && (!isKept || isInterrupted)) removeOwnFiles(config.configDir);
  }
  if (!isKept)
    throw new SaltworksError(
      "CONFIG_INVALID",
      `${path} would not be read as it is written: default_include must name master.d/*.conf, and no file behind it may set these options`,
    );
  return path;
}

/** @returns what is to be said of the check. @throws SaltworksError CLUSTER_REFUSED if a peer's server has another secret */
async function checkSecret({ peers, name }: Member, keys: ClusterKeys, host: Host): Promise<string> {
  const probed = await Promise.all(peers.map((peer) => probePeer(peer, keys, name)));
  const others = probed.filter(({ state }) => state === "other");
  if (others.length > 0)
    throw new SaltworksError(
      "CLUSTER_REFUSED",
      `the server at ${others.map(({ peer }) => peer).join(", ")} has another cluster_secret or another cluster_id`,
    );
  for (const one of probed)
    if (one.state === "unreachable") host.complain(`${one.peer} cannot be reached: ${one.why}\n`);
  return isAnySame(probed)
    ? "A peer's server has the same secret.\n"
    : "No peer's server can be reached, so that the secret is not checked.\n";
}

function isAnySame(probed: readonly Probed[]): boolean {
  return probed.some(({ state }) => state === "same");
}
