/** Makes the servers of a cluster forget one of them, so that it counts for no majority any more. */
import { setTimeout as pause } from "node:timers/promises";
import type { NatsConnection } from "@nats-io/nats-core";
import { SaltworksError } from "../../errors.ts";
import { clusterLeaveMs, clusterRequestMs, clusterRetryMs } from "../../limits.ts";
import { type ClusterStatus, readClusterStatus } from "../status.ts";

/** Source: NATS documentation, "JetStream wire API", removal of a server from the meta group. */
const subject = "$JS.API.SERVER.REMOVE";

/** After this time the leading server counts each server that it has heard of. */
const countedMs = 2_000;
/** A server that does not answer for so long is away. */
const slowAnswerMs = 5_000;

type Answer = { readonly success?: boolean; readonly error?: { readonly description?: string } };

/**
 * Waits until more than half of the servers answer and know this one, makes them forget it, and waits until they have.
 *
 * @param nats a connection as the system's user
 * @returns how many servers the cluster has without it
 * @throws SaltworksError CLUSTER_UNAVAILABLE if too few servers answer in time, would be left, or if they do not forget it
 */
export async function leaveServers(nats: NatsConnection, name: string): Promise<number> {
  const first = await untilRemovable(nats, name);
  if (!isKnown(first, name)) {
    // A server that has just begun is counted a moment later.
    await pause(countedMs);
    const second = await untilRemovable(nats, name);
    if (!isKnown(second, name)) return second.serverCount - 1;
  }
  const { success, error } = await askToForget(nats, name);
  if (success !== true)
    throw new SaltworksError(
      "CLUSTER_UNAVAILABLE",
      `the cluster does not forget ${name}: ${error?.description ?? "no reason"}`,
    );
  const after = await until(
    nats,
    (status) => status.servers.some(({ isLeader }) => isLeader) && !isKnown(status, name),
    () => `the cluster has not forgotten ${name}`,
  );
  return after.servers.filter((server) => server.name !== name).length;
}

/** @throws SaltworksError CLUSTER_UNAVAILABLE without an answer; by its `mayRepeat` a second try does no harm */
async function askToForget(nats: NatsConnection, name: string): Promise<Answer> {
  try {
    const reply = await nats.request(subject, JSON.stringify({ peer: name }), { timeout: clusterRequestMs });
    return reply.json<Answer>();
  } catch (cause) {
    const why = `the cluster has not said whether it has forgotten ${name}`;
    throw new SaltworksError("CLUSTER_UNAVAILABLE", why, { mayRepeat: true }, { cause });
  }
}

/** Waits for servers whose way here or answer is slow. @throws SaltworksError CLUSTER_UNAVAILABLE */
async function untilRemovable(nats: NatsConnection, name: string): Promise<ClusterStatus> {
  const few = "fewer than half of the cluster's servers answer";
  await until(
    nats,
    ({ hasQuorum }) => hasQuorum,
    () => few,
  );
  return await until(
    nats,
    (status) => status.hasQuorum && (!isKnown(status, name) || awayFault(status, name) === undefined),
    (status) => awayFault(status, name) ?? few,
    slowAnswerMs,
  );
}

/** The others must be a majority among themselves: otherwise they could not even take another server in. Undefined if they are. */
function awayFault({ servers, serverCount }: ClusterStatus, name: string): string | undefined {
  const others = servers.filter((server) => server.name !== name);
  const working = others.filter(({ isAnswering, isStoring }) => isAnswering && isStoring).length;
  if (2 * working > serverCount - 1) return undefined;
  const away = others.filter(({ isAnswering, isStoring }) => !isAnswering || !isStoring).map((server) => server.name);
  return `without ${name} fewer than half of the servers would work, and the cluster would take no changes: start ${away.join(", ") || "the others"} first`;
}

/** Whether the leading server counts it. */
function isKnown({ servers }: ClusterStatus, name: string): boolean {
  return servers.some((server) => server.name === name && (server.isLeader || server.behind !== undefined));
}

async function until(
  nats: NatsConnection,
  isSo: (status: ClusterStatus) => boolean,
  fault: (last: ClusterStatus) => string,
  waitMs: number = clusterLeaveMs,
): Promise<ClusterStatus> {
  const endMs = performance.now() + waitMs;
  for (;;) {
    const status = await readClusterStatus(nats);
    if (isSo(status)) return status;
    if (performance.now() > endMs) throw new SaltworksError("CLUSTER_UNAVAILABLE", fault(status));
    await pause(clusterRetryMs);
  }
}
