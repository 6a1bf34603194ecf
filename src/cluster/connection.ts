/** A member's connection to its own NATS server, and JetStream on it. */
import { setTimeout as pause } from "node:timers/promises";
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { connect, type NatsConnection, type NodeConnectionOptions, nkeyAuthenticator } from "@nats-io/transport-node";
import { SaltworksError } from "../errors.ts";
import { clusterRequestMs, clusterRetryMs } from "../limits.ts";

export type ClusterConnection = {
  readonly nats: NatsConnection;
  readonly jetstream: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly kvm: Kvm;
  readonly close: () => Promise<void>;
};

/** What a connection to the member's own server needs: plain data, which a worker thread can be sent. `accessTo` makes it. */
export type ServerAccess = {
  /** Port of the member's own server on 127.0.0.1. */
  readonly port: number;
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

/**
 * The only place that says how to connect to the member's own server, also for threads. While the server is down any local user may listen on its
 * port. Therefore TLS comes before the first byte, with certificates of the cluster on both sides, and the client does not follow the addresses that
 * servers name.
 */
export function connectOptions(access: ServerAccess, name: string): NodeConnectionOptions {
  const { port, seed, authority, certificate, key } = access;
  return {
    servers: `127.0.0.1:${port}`,
    name,
    authenticator: nkeyAuthenticator(seed),
    tls: { ca: authority, cert: certificate, key, handshakeFirst: true },
    ignoreClusterUpdates: true,
    // Otherwise a second authentication that takes too long, as on a machine that stood still, ends the connection for good.
    ignoreAuthErrorAbort: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: clusterRetryMs,
    timeout: clusterRequestMs,
  };
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
      const nats = await connect(connectOptions(options, name));
      return await opened(nats);
    } catch (error) {
      if (performance.now() >= untilMs || !(await mayTryAgain(signal)))
        throw unavailable("the cluster's own server", error);
    }
  }
}

async function opened(nats: NatsConnection): Promise<ClusterConnection> {
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
    const text = `the connection to the cluster's own server has ended, and does not come back by itself: ${why}`;
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
