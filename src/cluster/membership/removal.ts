/** Makes the servers of a cluster forget one of them, so that it counts for no majority any more. */
import { setTimeout as pause } from "node:timers/promises";
import type { NatsConnection } from "@nats-io/nats-core";
import { SaltworksError } from "../../errors.ts";
import { clusterLeaveMs, clusterRequestMs, clusterRetryMs } from "../../limits.ts";
import { type ClusterStatus, readClusterStatus } from "../status.ts";

/** Source: NATS documentation, "JetStream wire API", removal of a server from the meta group. */
const subject = "$JS.API.SERVER.REMOVE";

type Answer = { readonly success?: boolean; readonly error?: { readonly description?: string } };

/**
 * Waits until more than half of the servers answer and know this one, makes them forget it, and waits until they have.
 *
 * @param nats a connection as the system's user
 * @returns how many servers the cluster has without it
 * @throws SaltworksError CLUSTER_UNAVAILABLE if too few servers answer in time, would be left, or if they do not forget it
 */
export async function leaveServers(nats: NatsConnection, name: string): Promise<number> {
  const before = await until(nats, ({ hasQuorum }) => hasQuorum, "fewer than half of the cluster's servers answer");
  if (!isKnown(before, name)) return before.serverCount - 1;
  demandMajority(before, name);
  const { success, error } = await askToForget(nats, name);
  if (success !== true)
    throw new SaltworksError(
      "CLUSTER_UNAVAILABLE",
      `the cluster does not forget ${name}: ${error?.description ?? "no reason"}`,
    );
  const after = await until(
    nats,
    (status) => status.servers.some(({ isLeader }) => isLeader) && !isKnown(status, name),
    `the cluster has not forgotten ${name}`,
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

/** The others must be a majority among themselves: otherwise they could not even take another server in. @throws SaltworksError CLUSTER_UNAVAILABLE */
function demandMajority({ servers, serverCount }: ClusterStatus, name: string): void {
  const others = servers.filter((server) => server.name !== name);
  const working = others.filter(({ isAnswering, isStoring }) => isAnswering && isStoring).length;
  if (2 * working > serverCount - 1) return;
  const away = others.filter(({ isAnswering, isStoring }) => !isAnswering || !isStoring).map((server) => server.name);
  throw new SaltworksError(
    "CLUSTER_UNAVAILABLE",
    `without ${name} fewer than half of the servers would work, and the cluster would take no changes: start ${away.join(", ") || "the others"} first`,
  );
}

/** Whether the leading server counts it. */
function isKnown({ servers }: ClusterStatus, name: string): boolean {
  return servers.some((server) => server.name === name && (server.isLeader || server.behind !== undefined));
}

async function until(
  nats: NatsConnection,
  isSo: (status: ClusterStatus) => boolean,
  fault: string,
): Promise<ClusterStatus> {
  const endMs = performance.now() + clusterLeaveMs;
  for (;;) {
    const status = await readClusterStatus(nats);
    if (isSo(status)) return status;
    if (performance.now() > endMs) throw new SaltworksError("CLUSTER_UNAVAILABLE", fault);
    await pause(clusterRetryMs);
  }
}
