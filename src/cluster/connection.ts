/** A member's connection to its own NATS server or to an operator's, and JetStream on it. */
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { checkServerIdentity } from "node:tls";
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import {
  type Authenticator,
  connect,
  credsAuthenticator,
  type NatsConnection,
  type NodeConnectionOptions,
  nkeyAuthenticator,
  usernamePasswordAuthenticator,
} from "@nats-io/transport-node";
import { hasCode, SaltworksError } from "../errors.ts";
import { clusterRequestMs, clusterRetryMs } from "../limits.ts";
import type { NatsCredentials, OperatorNats } from "./operator-nats.ts";
import { type RecordSeal, recordSeal } from "./record-seal.ts";

export type ClusterConnection = {
  readonly nats: NatsConnection;
  readonly jetstream: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly kvm: Kvm;
  /** Undefined for the member's own server, whose records go unsealed. */
  readonly seal?: RecordSeal | undefined;
  readonly close: () => Promise<void>;
};

/** What a connection needs: plain data, which a worker thread can be sent. */
export type ServerAccess = OwnServerAccess | OperatorAccess;

/** To an operator's servers. */
export type OperatorAccess = {
  readonly operatorNats: OperatorNats;
  /** Of the subjects on which answers come, which no other cluster has. */
  readonly inboxPrefix: string;
  /** Under which records lie there, 32 bytes. */
  readonly sealKey: Uint8Array;
};

/** To the member's own server. `accessTo` makes it. */
export type OwnServerAccess = {
  /** Ports of 127.0.0.1, on one of which the member's own server listens. */
  readonly ports: readonly number[];
  /** Seed of the nkey user. */
  readonly seed: Uint8Array;
  /** PEM texts. The server must have a certificate of this authority. */
  readonly authority: string;
  /** The client's own, from the same authority. */
  readonly certificate: string;
  readonly key: string;
};

export type ConnectionOptions = ServerAccess & {
  /** Shown in the server's list of connections. */
  readonly name: string;
  /** How long to wait for the server, milliseconds. */
  readonly waitMs: number;
  readonly signal?: AbortSignal;
};

type ListedOptions = NodeConnectionOptions & { servers: string[] };

/** The only place that says how to connect, also for threads. The client does not follow the addresses that servers name. */
export function connectOptions(access: ServerAccess, name: string): ListedOptions {
  return {
    ...("operatorNats" in access ? operatorOptions(access) : ownServerOptions(access)),
    name,
    ignoreClusterUpdates: true,
    // Otherwise a second authentication that takes too long, as on a machine that stood still, ends the connection for good.
    ignoreAuthErrorAbort: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: clusterRetryMs,
    timeout: clusterRequestMs,
  };
}

/**
 * While the server is down any local user may listen on its ports. Therefore TLS comes before the first byte, with certificates of the cluster on both
 * sides.
 */
function ownServerOptions({ ports, seed, authority, certificate, key }: OwnServerAccess): ListedOptions {
  return {
    servers: ports.map((port) => `127.0.0.1:${port}`),
    // The first one is the server's, unless another program has taken it.
    noRandomize: true,
    authenticator: nkeyAuthenticator(seed),
    tls: { ca: authority, cert: certificate, key, handshakeFirst: true },
  };
}

function operatorOptions({ operatorNats, inboxPrefix }: OperatorAccess): ListedOptions {
  const { servers, credentials, tls } = operatorNats;
  // An option of Node.js, which the client hands on and its type does not name.
  const checked = { ...tls, checkServerIdentity: identityCheck(servers) };
  return {
    servers: shuffled(servers),
    // Done here, so that the first one is known. The client also shuffles the addresses of a name.
    noRandomize: servers.length > 1,
    inboxPrefix,
    authenticator: authenticatorOf(credentials),
    ...(tls !== undefined && { tls: checked }),
  };
}

function shuffled(servers: readonly string[]): string[] {
  return servers
    .map((server) => ({ server, place: Math.random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ server }) => server);
}

/**
 * The client does not tell Node.js the address of a server without a name, and Node.js then takes `localhost` for it. The certificate must be for one of
 * the addresses that the operator listed.
 */
function identityCheck(servers: readonly string[]): typeof checkServerIdentity {
  const hosts = servers.map((server) => server.slice(0, server.lastIndexOf(":")).replace(/^\[|\]$/g, ""));
  const listed = hosts.filter((host) => isIP(host) !== 0 || host === "localhost");
  return (host, certificate) => {
    if (host !== "localhost") return checkServerIdentity(host, certificate);
    const faults = listed.map((name) => checkServerIdentity(name, certificate));
    if (faults.includes(undefined)) return undefined;
    return faults[0] ?? new Error("cluster_nats_servers lists no such server");
  };
}

function authenticatorOf(credentials: NatsCredentials): Authenticator {
  switch (credentials.kind) {
    case "none":
      return () => undefined;
    case "creds":
      return rereading(credentials.file, credsAuthenticator);
    case "nkey":
      return rereading(credentials.file, (seed) => nkeyAuthenticator(Buffer.from(seed.toString().trim())));
    case "password":
      return rereading(credentials.file, (text) =>
        usernamePasswordAuthenticator(credentials.user, text.toString().trim()),
      );
  }
}

/**
 * Reads the file at each connection, because an operator may replace it. While it cannot be read, or is not whole yet, its last contents count: an error
 * here would end the connection for good, and the server says by itself that it refuses old credentials.
 */
function rereading(file: string, make: (contents: Buffer) => Authenticator): Authenticator {
  let last: Authenticator = (nonce) => make(readFileSync(file))(nonce);
  return (nonce) => {
    try {
      const next = make(readFileSync(file));
      const answer = next(nonce);
      last = next;
      return answer;
    } catch {
      return last(nonce);
    }
  };
}

/** What `access` leads to, for messages. */
export function serversOf(access: ServerAccess): string {
  return "operatorNats" in access
    ? `NATS (cluster_nats_servers: ${access.operatorNats.servers.join(", ")})`
    : "this member's own NATS server";
}

/**
 * Connects as soon as the server answers. The connection comes back by itself when the server was started again.
 *
 * @throws SaltworksError CLUSTER_UNAVAILABLE if it does not answer in time
 */
export async function connectCluster(options: ConnectionOptions): Promise<ClusterConnection> {
  const { name, waitMs, signal } = options;
  const untilMs = performance.now() + waitMs;
  for (;;) {
    try {
      const nats = await connectKnowingAll(connectOptions(options, name), untilMs);
      return { ...(await openedOn(nats)), seal: "sealKey" in options ? recordSeal(options.sealKey) : undefined };
    } catch (error) {
      if (performance.now() >= untilMs || !(await mayTryAgain(signal))) throw unavailable(serversOf(options), error);
    }
  }
}

/**
 * The client forgets the addresses that fail before its first success, and would never try them again. So a connection that was made after such a failure
 * is made anew, with the address that answered as the first one.
 */
async function connectKnowingAll(options: ListedOptions, untilMs: number): Promise<NatsConnection> {
  let { servers } = options;
  for (;;) {
    const nats = await connect({ ...options, servers });
    const answered = nats.getServer();
    if (servers.length === 1 || answered === servers[0] || performance.now() >= untilMs) return nats;
    await nats.close();
    servers = [answered, ...options.servers.filter((server) => server !== answered)];
  }
}

export async function openedOn(nats: NatsConnection): Promise<ClusterConnection> {
  const options = { timeout: clusterRequestMs };
  // Without this check, because JetStream may have no leader yet; `whenLed` waits for one.
  const manager = await jetstreamManager(nats, { ...options, checkAPI: false });
  const client = jetstream(nats, options);
  return { nats, jetstream: client, manager, kvm: new Kvm(client), close: () => nats.close() };
}

/**
 * Calls `onLost` if the connection ends before `signal` does. It comes back by itself whenever the server does, so that this takes a fault, such as a
 * signature that fails.
 */
export function noteLoss(
  { nats }: { readonly nats: Pick<NatsConnection, "closed"> },
  signal: AbortSignal,
  onLost: (error: SaltworksError) => void,
): void {
  void nats.closed().then((cause) => {
    if (signal.aborted) return;
    const why = cause instanceof Error ? cause.message : "it was closed";
    const text = `the connection to the cluster's NATS server has ended, and does not come back by itself: ${why}`;
    onLost(new SaltworksError("CLUSTER_UNAVAILABLE", text, {}, { cause }));
  });
}

/**
 * Tries again what fails while servers come up or elect a leader.
 *
 * @param what what was tried, for the error
 * @param signal ends the tries
 * @throws SaltworksError CLUSTER_UNAVAILABLE after `waitMs` milliseconds, or after `signal`
 */
export async function retried<Result>(
  what: string,
  waitMs: number,
  attempt: () => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const untilMs = performance.now() + waitMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof SaltworksError) throw error;
      if (performance.now() >= untilMs || !(await mayTryAgain(signal))) throw unavailable(what, error);
    }
  }
}

/**
 * As `retried`, without an end.
 *
 * @param onWait called each time that `waitMs` have passed, or that the cluster has refused at once
 * @throws what `signal` ends it with; errors other than CLUSTER_UNAVAILABLE
 */
export async function untilAnswered<Result>(
  what: string,
  waitMs: number,
  attempt: () => Promise<Result>,
  signal: AbortSignal,
  onWait: (error: unknown) => void,
): Promise<Result> {
  for (;;) {
    try {
      return await retried(what, waitMs, attempt, signal);
    } catch (error) {
      if (!hasCode(error, "CLUSTER_UNAVAILABLE") || signal.aborted) throw error;
      onWait(error);
      // What is refused at once would be asked without a pause.
      if (!(await mayTryAgain(signal))) throw error;
    }
  }
}

/** Waits before the next try. @returns false as soon as the end is asked for */
async function mayTryAgain(signal: AbortSignal | undefined): Promise<boolean> {
  try {
    await pause(clusterRetryMs, undefined, { signal });
    return true;
  } catch (error) {
    if (signal?.aborted !== true) throw error;
    return false;
  }
}

export function unavailable(what: string, cause: unknown): SaltworksError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new SaltworksError("CLUSTER_UNAVAILABLE", `${what} does not answer: ${why}`, {}, { cause });
}
