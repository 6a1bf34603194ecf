/** A member's connection to its own NATS server, and JetStream on it. */
import { setTimeout as pause } from "node:timers/promises";
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { connect, type NatsConnection, nkeyAuthenticator } from "@nats-io/transport-node";
import { SaltworksError } from "../errors.ts";
import { clusterRequestMs, clusterRetryMs } from "../limits.ts";

export type ClusterConnection = {
  readonly nats: NatsConnection;
  readonly jetstream: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly kvm: Kvm;
  readonly close: () => Promise<void>;
};

export type ConnectionOptions = {
  /** Port of the member's own server on 127.0.0.1. */
  readonly port: number;
  /** Seed of the nkey user. */
  readonly seed: Uint8Array;
  /** Shown in the server's list of connections. */
  readonly name: string;
  /** How long to wait for the server, milliseconds. */
  readonly waitMs: number;
  readonly signal?: AbortSignal;
};

/**
 * Connects as soon as the server answers. The connection comes back by itself when the server was started again.
 *
 * @throws SaltworksError CLUSTER_UNAVAILABLE if it does not answer in time
 */
export async function connectCluster(options: ConnectionOptions): Promise<ClusterConnection> {
  const { port, seed, name, waitMs, signal } = options;
  const untilMs = performance.now() + waitMs;
  for (;;) {
    try {
      const nats = await connect({
        servers: `127.0.0.1:${port}`,
        name,
        authenticator: nkeyAuthenticator(seed),
        maxReconnectAttempts: -1,
        reconnectTimeWait: clusterRetryMs,
        timeout: clusterRequestMs,
      });
      return await opened(nats);
    } catch (error) {
      if (performance.now() >= untilMs || signal?.aborted === true)
        throw unavailable("the cluster's own server", error);
      await pause(clusterRetryMs);
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
 * Tries again what fails while servers come up or elect a leader.
 *
 * @param what what was tried, for the error
 * @throws SaltworksError CLUSTER_UNAVAILABLE after `waitMs` milliseconds
 */
export async function retried<Result>(what: string, waitMs: number, attempt: () => Promise<Result>): Promise<Result> {
  const untilMs = performance.now() + waitMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof SaltworksError) throw error;
      if (performance.now() >= untilMs) throw unavailable(what, error);
      await pause(clusterRetryMs);
    }
  }
}

export function unavailable(what: string, cause: unknown): SaltworksError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new SaltworksError("CLUSTER_UNAVAILABLE", `${what} does not answer: ${why}`, {}, { cause });
}
