/** What the configuration says of an operator's own NATS servers, checked. It loads nothing of NATS. */
import { readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { MasterConfig } from "../config/load.ts";
import { clusterOptions } from "../config/options/cluster.ts";
import { SaltworksError } from "../errors.ts";

export type OperatorNatsConfig = Pick<
  MasterConfig,
  | "cluster_nats_credentials"
  | "cluster_nats_nkey_file"
  | "cluster_nats_password_file"
  | "cluster_nats_server"
  | "cluster_nats_servers"
  | "cluster_nats_tls_ca"
  | "cluster_nats_tls_cert"
  | "cluster_nats_tls_first"
  | "cluster_nats_tls_key"
  | "cluster_nats_user"
  | "cluster_peers"
  | "cluster_pool_port"
>;

/** What the member is to the servers. The files are read at each connection, so that their contents may be replaced. */
export type NatsCredentials =
  | { readonly kind: "none" }
  | { readonly kind: "creds" | "nkey"; readonly file: string }
  | { readonly kind: "password"; readonly user: string; readonly file: string };

/** Plain data, which a thread can be sent. It has names of files and no secret. */
export type OperatorNats = {
  /** Each `HOST:PORT`. */
  readonly servers: readonly string[];
  readonly credentials: NatsCredentials;
  /** Undefined: TLS only if the server demands it. */
  readonly tls:
    | {
        readonly caFile?: string;
        readonly certFile?: string;
        readonly keyFile?: string;
        /** Before the server's first line. */
        readonly handshakeFirst: boolean;
      }
    | undefined;
};

const defaultPort = 4_222;
const serverForm = /^(?:(nats|tls):\/\/)?(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/@]+))(?::(\d{1,5}))?\/?$/;
const fileOptions = [
  "cluster_nats_credentials",
  "cluster_nats_nkey_file",
  "cluster_nats_password_file",
  "cluster_nats_tls_ca",
  "cluster_nats_tls_cert",
  "cluster_nats_tls_key",
] as const;
/** Options that mean something only beside `cluster_nats_servers`. */
const besideServers = [...fileOptions, "cluster_nats_user"] as const;

const loopbackForm = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]):\d+$/;

function refuse(why: string): never {
  throw new SaltworksError("CONFIG_INVALID", why);
}

const given = (value: string | null) => (value === null || value === "" ? undefined : value);

/**
 * @returns undefined without `cluster_nats_servers`
 * @throws SaltworksError CONFIG_INVALID that names the option
 */
export function operatorNatsOf(config: OperatorNatsConfig): OperatorNats | undefined {
  const { cluster_nats_servers: entries, cluster_nats_tls_first: handshakeFirst } = config;
  if (entries.length === 0) {
    const [lonely] = besideServers.filter((name) => given(config[name]) !== undefined);
    if (lonely !== undefined || handshakeFirst)
      refuse(`${lonely ?? "cluster_nats_tls_first"} is set without cluster_nats_servers, and means nothing then`);
    return undefined;
  }
  refuseOwnServer(config);
  const servers = entries.map(readServer);
  for (const name of fileOptions) checkFile(name, given(config[name]));
  const [caFile, certFile, keyFile] = [
    given(config.cluster_nats_tls_ca),
    given(config.cluster_nats_tls_cert),
    given(config.cluster_nats_tls_key),
  ];
  if ((certFile === undefined) !== (keyFile === undefined))
    refuse("cluster_nats_tls_cert and cluster_nats_tls_key belong together: one of them is missing");
  const credentials = credentialsOf(config);
  const isTls = servers.some((one) => one.isTls) || handshakeFirst || caFile !== undefined || certFile !== undefined;
  if (credentials.kind === "password" && !isTls && !servers.every(({ address }) => loopbackForm.test(address)))
    refuse("cluster_nats_user: its password would go over the network in clear: use tls:// or cluster_nats_tls_ca");
  const files = {
    ...(caFile !== undefined && { caFile }),
    ...(certFile !== undefined && { certFile }),
    ...(keyFile !== undefined && { keyFile }),
  };
  return {
    servers: servers.map(({ address }) => address),
    credentials,
    tls: isTls ? { ...files, handshakeFirst } : undefined,
  };
}

/** What belongs to a server that the member starts. */
function refuseOwnServer(config: OperatorNatsConfig): void {
  const isSet = {
    cluster_peers: config.cluster_peers.length > 0,
    cluster_nats_server: given(config.cluster_nats_server) !== undefined,
    cluster_pool_port: config.cluster_pool_port !== clusterOptions.cluster_pool_port.default,
  };
  const [name] = Object.entries(isSet).flatMap(([option, isGiven]) => (isGiven ? [option] : []));
  if (name !== undefined)
    refuse(
      `${name} and cluster_nats_servers are both set: with an operator's own NATS this master starts no server. Remove one of them`,
    );
}

function readServer(entry: unknown): { readonly address: string; readonly isTls: boolean } {
  // What stands before an @ may be a password, which no message shows.
  if (typeof entry === "string" && entry.includes("@"))
    refuse(
      "cluster_nats_servers: an entry has a user or a password, and others may read it: use cluster_nats_user and cluster_nats_password_file",
    );
  const match = typeof entry === "string" ? serverForm.exec(entry) : null;
  const [, scheme, ipv6, name, port = String(defaultPort)] = match ?? [];
  const host = ipv6 === undefined ? name : `[${ipv6}]`;
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535)
    return refuse(
      `cluster_nats_servers: ${JSON.stringify(entry)} is not HOST, HOST:PORT, nats://HOST:PORT or tls://HOST:PORT`,
    );
  return { address: `${host}:${port}`, isTls: scheme === "tls" };
}

function credentialsOf(config: OperatorNatsConfig): NatsCredentials {
  const [creds, nkey, user, password] = [
    given(config.cluster_nats_credentials),
    given(config.cluster_nats_nkey_file),
    given(config.cluster_nats_user),
    given(config.cluster_nats_password_file),
  ];
  if ((user === undefined) !== (password === undefined))
    refuse("cluster_nats_user and cluster_nats_password_file belong together: one of them is missing");
  if ([creds, nkey, user].filter((kind) => kind !== undefined).length > 1)
    refuse("cluster_nats_credentials, cluster_nats_nkey_file and cluster_nats_user: only one of them may be set");
  if (creds !== undefined) return { kind: "creds", file: creds };
  if (nkey !== undefined) return { kind: "nkey", file: nkey };
  if (user !== undefined && password !== undefined) return { kind: "password", user, file: password };
  return { kind: "none" };
}

function checkFile(option: string, file: string | undefined): void {
  if (file === undefined) return;
  if (!isAbsolute(file)) refuse(`${option}: ${file} is not an absolute path`);
  try {
    if (readFileSync(file).length === 0) refuse(`${option}: ${file} is empty`);
  } catch (cause) {
    if (cause instanceof SaltworksError) throw cause;
    const why = `${option}: ${file} cannot be read: ${(cause as Error).message}`;
    throw new SaltworksError("CONFIG_INVALID", why, {}, { cause });
  }
}
