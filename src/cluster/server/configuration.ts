/** The configuration file of a member's `nats-server`. Its language includes JSON, so that nothing needs to be quoted by hand. Pure. */
import { clusterServerLogBytesMax, clusterServerLogsMax, natsMessageBytesMax } from "../../limits.ts";
import { isAnyAddress, type Member } from "../member.ts";

/** More than any disk has: the disk itself is the bound. */
const fileStoreBytes = 2 ** 50;

export type ServerFiles = {
  readonly configuration: string;
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
  readonly log: string;
  readonly pid: string;
  readonly store: string;
};

export type ServerUsers = {
  /** Public nkey of the master, its workers and its command line. */
  readonly client: string;
  /** Public nkey of the account that removes servers and asks them for their state. */
  readonly system: string;
};

/** @param clientPort port on 127.0.0.1 for the master's own connections */
export function serverConfiguration(
  member: Member,
  files: ServerFiles,
  users: ServerUsers,
  clientPort: number,
): string {
  const tls = { cert_file: files.certificate, key_file: files.key, ca_file: files.authority, verify: true, timeout: 5 };
  const settings = {
    server_name: member.name,
    // Strangers on the network reach the route port only, where TLS asks for the cluster's certificate.
    host: "127.0.0.1",
    port: clientPort,
    // Before the first byte, because a plain greeting could come from anyone who has the port.
    tls: { ...tls, handshake_first: true },
    pid_file: files.pid,
    log_file: files.log,
    logfile_size_limit: clusterServerLogBytesMax,
    logfile_max_num: clusterServerLogsMax,
    max_payload: natsMessageBytesMax,
    // JetStream acknowledges before it syncs otherwise, every two minutes.
    // Without a size it takes three quarters of what is free at its start, also if its own records fill the rest, and then keeps nothing new.
    jetstream: { store_dir: files.store, sync_interval: "always", max_file_store: fileStoreBytes },
    accounts: {
      MASTERS: { jetstream: "enabled", users: [{ nkey: users.client }] },
      SYSTEM: { users: [{ nkey: users.system }] },
    },
    system_account: "SYSTEM",
    cluster: {
      name: member.clusterId,
      host: member.poolHost,
      port: member.poolPort,
      // Peers that learn of this server by others get this address. With an interface of all addresses it is each connection's own.
      ...(isAnyAddress(member.poolHost) ? {} : { advertise: advertised(member.poolHost, member.poolPort) }),
      routes: member.peers.map((peer) => `nats-route://${peer}`),
      // Another member's loopback port means nothing here.
      no_advertise: true,
      tls,
    },
  };
  return `${JSON.stringify(settings, undefined, 2)}\n`;
}

/** The port for the master's own connections, from a configuration's text. @throws SyntaxError for other text */
export function clientPortIn(text: string): number {
  return Number((JSON.parse(text) as { readonly port: number }).port);
}

function advertised(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
